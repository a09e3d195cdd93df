"""Landmarks in space: their pictures, and the figure that turns."""

import base64
import hashlib
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import sfumato as sf
from sfumato.views.page import SCRIPT
from sfumato.views.report import write_report
from sfumato.views.shapes import ASKEW, FRONT, Landmarks
from sfumato.views.subject import Subject

K = 8
STUB = """
const made = [];
class Node { constructor(tag) { this.tag = tag; this.at = {}; this.on = {}; made.push(this); }
  setAttribute(name, value) { this.at[name] = value; } appendChild(node) { return node; }
  addEventListener(name, done) { this.on[name] = done; } setPointerCapture() {} }
const svg = new Node("svg"); svg.dataset = {solid: process.argv[2], links: "[[0,3],[2,1]]"}; svg.parentElement = {hidden: true};
const document = {querySelectorAll: () => [svg], createElementNS: (_, tag) => new Node(tag)};
SCRIPT
const seen = () => made.slice(1).map(node => ({tag: node.tag, text: node.textContent, ...node.at}));
const first = seen();
svg.on.keydown({key: "ArrowRight", preventDefault() {}});
svg.on.pointerdown({clientX: 50, clientY: 40});
svg.on.pointermove({buttons: 1, clientX: 60, clientY: 50});
svg.on.pointermove({buttons: 1, clientX: 50, clientY: 60});
svg.on.pointermove({buttons: 0, clientX: 99, clientY: 99});
console.log(JSON.stringify([first, seen(), svg.parentElement.hidden]));
"""


def released(space, rng, mechanism="tangent", axes=None):
    reference = 10 * rng.normal(size=space.point_shape) * [3.0, 2.0, 1.0][: space.point_shape[1]]
    raw = reference + rng.normal(size=(300, *space.point_shape))
    region = sf.Ball(space, reference, 0.3 if space.unit else 9.0)
    if axes is not None:
        region = sf.Ellipsoid(space, reference, 0.3 * np.asarray(axes), np.eye(space.dim)[: len(axes)])
    return sf.private_mean(raw, region, 4.0, mechanism)


@pytest.fixture
def release(rng):
    return released(sf.Shapes3D(K), rng, axes=[1.0, 0.8, 0.5, 0.3])


def test_the_three_views_show_the_same_landmarks_and_no_mirror_image(release):
    drawn = release.plot()
    assert [axes.get_title() for axes in drawn.axes] == ["top", "in space", "front", "side"]
    above, askew, front, right = (np.array(axes.lines[-1].get_data()).T for axes in drawn.axes)
    together = np.column_stack([front, -right[:, 0]])
    assert np.allclose(together[:, [0, 2]] * [1, -1], above)
    assert np.allclose(front[:, 1], right[:, 1])
    assert np.allclose(askew, together @ ASKEW.T)
    assert np.allclose(ASKEW @ ASKEW.T, np.eye(2), atol=1e-3)
    space = sf.Shapes3D(K)
    form = Landmarks(Subject.of(release), turned=True)
    together = form.reference + (together - form.reference) / form.times
    assert space.distance(space.validate(together[None]), space.validate(release.value[None])) < 1e-7  # not mirrored
    spans = np.ptp(form.reference, axis=0)
    assert spans[0] > spans[2]


@pytest.mark.parametrize("p", [0.5, 0.9])
def test_each_landmark_lies_in_its_ellipsoid_as_often_as_is_said(p, release, rng):
    shown = Subject.of(release, p)
    solid, noise = Landmarks(shown, turned=True), shown.noise
    directions = rng.normal(size=(20_000, 4))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    u = noise.sigma * rng.gamma(4, size=(20_000, 1)) * directions
    off = (noise.values(u) - noise.values(np.zeros((1, 4)))).transpose(1, 0, 2)
    turn = np.linalg.lstsq(noise.values(np.zeros((1, 4)))[0], solid.released, rcond=None)[0]
    inside = np.einsum("kni,kij,knj->kn", off @ turn, np.linalg.inv(solid.spread), off @ turn)
    held = (inside <= 1).mean(axis=1)
    assert (held > p - 0.015).all()
    assert ((inside <= 0.8).mean(axis=1) < p - 0.015).all()  # a smaller one would not hold it
    seen = (off @ turn) @ FRONT.T
    shadow = np.linalg.inv(FRONT @ solid.spread @ FRONT.T)
    assert ((np.einsum("kni,kij,knj->kn", seen, shadow, seen) <= 1).mean(axis=1) >= held).all()


@pytest.mark.parametrize(
    ("space", "mechanism"),
    [(sf.Shapes3D(K), "pointwise-laplace"), (sf.SizeAndShape(K, 3), "tangent"), (sf.SizeAndShape(K, 2), "tangent")],
    ids=str,
)
def test_other_releases_are_drawn_too(space, mechanism, rng, tmp_path):
    release = released(space, rng, mechanism)
    sf.plot_release(release, tmp_path / "mean.svg")
    write_report(release, tmp_path / "mean.html")
    page = (tmp_path / "mean.html").read_text(encoding="utf-8")
    assert ("<script>" in page) == (space.point_shape[1] == 3)
    assert ("script-src" in page) == (space.point_shape[1] == 3)
    assert ("in space" if space.point_shape[1] == 3 else "in the plane") in page


def test_sizes_are_not_for_noise_on_shapes_of_size_one(rng):
    with pytest.raises(sf.Refusal, match="keeps sizes"):
        released(sf.SizeAndShape(K, 3), rng, "pointwise-laplace")


def test_the_page_runs_one_script_that_its_policy_names(release, tmp_path):
    write_report(release, tmp_path / "mean.html")
    write_report(release, tmp_path / "mean.md")
    page = (tmp_path / "mean.html").read_text(encoding="utf-8")
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    known = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.split("; ")[-1] == f"script-src 'sha256-{known}'"
    assert policy.startswith("default-src 'none'")
    assert page.count("<script") == 1
    assert not re.search(r"https?://", script)
    assert (
        '<figure hidden>\n<svg viewBox="-130 -110 260 220" tabindex="0" role="img" aria-label="The same in space'
        in page
    )
    assert page.index("<img") < page.index("<svg")  # the projections are there without it
    markdown = (tmp_path / "mean.md").read_text(encoding="utf-8")
    assert "script" not in markdown
    assert "\n\n\n" not in markdown


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_the_figure_turns(release, tmp_path):
    numbers = Landmarks(Subject.of(release), turned=True).numbers()
    (tmp_path / "turn.js").write_text(STUB.replace("SCRIPT", SCRIPT), encoding="utf-8")
    done = subprocess.run(
        ["node", "turn.js", json.dumps(numbers)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    *both, hidden = json.loads(done.stdout)
    assert hidden is False
    solid = np.array(numbers)
    for parts, yaw, pitch in zip(both, (-0.5, -0.4), (0.35, 0.55), strict=True):
        s, c, t, d = np.sin(yaw), np.cos(yaw), np.sin(pitch), np.cos(pitch)
        seen = np.array([[1, 0, 0], [0, -d, t]]) @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])  # turned, then tipped
        before, after = solid[:, :3] @ seen.T, solid[:, 3:6] @ seen.T
        soft, link = parts[:K], parts[K : 2 * K]
        lines, rest = parts[2 * K : 2 * K + 4], parts[2 * K + 4 :]  # two pairs, of the reference and of the release
        old, dot, label = (rest[i * K : (i + 1) * K] for i in range(3))
        at = lambda nodes, *names: np.array([[float(node[name]) for name in names] for node in nodes])  # noqa: E731
        assert np.allclose(at(dot, "cx", "cy"), after, atol=1e-3)
        assert np.allclose(at(soft, "cx", "cy"), after, atol=1e-3)
        assert np.allclose(at(old, "cx", "cy"), before, atol=1e-3)
        assert np.allclose(at(link, "x1", "y1", "x2", "y2"), np.hstack([before, after]), atol=1e-3)
        joined = [np.hstack([shape[i], shape[j]]) for shape in (before, after) for i, j in ((0, 3), (2, 1))]
        assert np.allclose(at(lines, "x1", "y1", "x2", "y2"), joined, atol=1e-3)
        assert [node["text"] for node in label] == list(range(1, K + 1))
        for node, row in zip(soft, solid, strict=True):
            m = np.zeros((3, 3))
            m[np.triu_indices(3)] = row[6:]
            shadow = seen @ (m + m.T - np.diag(np.diag(m))) @ seen.T
            turn = np.radians(float(re.search(r"rotate\(([-\d.e]+) ", node["transform"])[1]))
            axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
            drawn = axes @ np.diag(at([node], "rx", "ry")[0] ** 2) @ axes.T
            assert np.allclose(drawn, shadow, atol=1e-2 * max(1.0, np.abs(shadow).max()))
