"""Reports and pictures: made for every space and mechanism, of the release alone, whole or not at all."""

import base64
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import sfumato as sf
from conftest import CASES, cloud, typical_radius
from sfumato.studies.synthetic import corpus_callosum_template
from sfumato.views import directions, matrices, shapes, view_of
from sfumato.views.plots import plot_release
from sfumato.views.report import write_report
from sfumato.views.scene import Soft
from sfumato.views.subject import Subject
from sfumato.views.words import in_short

EXTRA = [
    (sf.KNG, sf.Sphere(dim=1)),
    (sf.ManifoldLaplace, sf.Sphere(dim=2, curvature=0.25)),
    (sf.AmbientLaplace, sf.Sphere(dim=2)),
    (sf.KNG, sf.SPD(size=1)),
    (sf.ManifoldLaplace, sf.SPD(size=3)),
    (sf.ManifoldLaplace, sf.SPD(size=5)),
    (sf.KNG, sf.Euclidean(dim=30)),
    (sf.ManifoldLaplace, sf.PlanarShapes(landmarks=24)),
]
VOID = {"meta", "img", "br"}


def released(kind, space, n=60, unit="one person", **options):
    rng = np.random.default_rng(5)
    radius = typical_radius(space)
    n = max(n, 20 * space.dim)
    ball = sf.Ball(space, space.present(cloud(space, space.origin(), 0.2, 1, rng)[0]), radius)
    points = space.present(cloud(space, ball.center, radius, n, rng))
    return kind(ball, epsilon=1.5, **options).release(points, unit=unit)


@pytest.fixture(scope="module", params=CASES + EXTRA, ids=lambda c: f"{c[0].__name__}-{c[1]}")
def release(request):
    return released(*request.param)


@pytest.fixture(scope="module")
def written(release, tmp_path_factory):
    """A folder with the report of a release, in both languages."""
    folder = tmp_path_factory.mktemp("report")
    write_report(release, folder / "mean.html")
    write_report(release, folder / "mean.md")
    return folder


@pytest.fixture(scope="module")
def objective():
    space = sf.Sphere(dim=2)
    own = sf.Objective(
        gradient=lambda x, points: -space.mean_log(x, points),
        sensitivity=lambda n: 2 / n,
        start=lambda points: points[0],
        envelope=lambda radius, points: 0 * radius,
        statistic="minimiser of <b>my</b> objective",
    )
    return released(sf.KNG, space, objective=own)


class Page(HTMLParser):
    """A strict reader: every tag is closed in its turn."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words, self.links = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href", "srcset", "data", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


def html(release, folder):
    write_report(release, folder / "mean.html")
    return (folder / "mean.html").read_text(encoding="utf-8")


def test_the_page_is_whole_and_asks_nothing_of_the_network(written):
    assert sorted(file.name for file in written.iterdir()) == ["mean.html", "mean.md", "mean.png"]
    raw = (written / "mean.html").read_text(encoding="utf-8")
    read = Page(raw)
    assert not re.search(r"https?:|//|url\(|@import", re.sub(r"base64,[^\"]*", "", raw))
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & set(read.tags)
    assert [link[:22] for link in read.links] == ["data:image/png;base64,"]
    assert base64.b64decode(read.links[0][22:], validate=True).startswith(b"\x89PNG")


def test_the_page_holds_every_number(release, written):
    text = Page((written / "mean.html").read_text(encoding="utf-8")).text
    r, g = release.record, release.guarantee
    numbers = [*r["calibration"]["numbers"].values(), r["calibration"]["sigma"]]
    expected = [f"{x:.10g}" for x in numbers] + [f"{release.error(p):.4g}" for p in (0.5, 0.9, 0.95, 0.99)]
    expected += [f"{x:.1e}" for x in (g.numerical_delta, g.numerical_epsilon) if x]
    expected += [f"{x:.6g}".replace("-", "−", 1) for x in np.ravel(release.value) if abs(x) > 1e-4]
    plain = re.sub(r"·10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda m: f"e{int(_ascii(m[1])):+03d}", text)
    assert [number for number in expected if number not in plain] == []
    for words in (
        f"{r['n']}",
        "ε\u00a0=\u00a01.5",
        "4.48",  # e^1.5
        "one person",
        "data sets of the same size",
        "clipped",
        "add up their ε",
        r["calibration"]["formula"].replace(" = ", "\u00a0=\u00a0"),
        "Soto, K. Bharath, M. Reimherr and A. Slavković (2022)",
        f"sfumato, version {sf.__version__}",
    ):
        assert words.replace("\u00a0", " ") in text.replace("\u00a0", " ")


def _ascii(digits):
    return digits.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))


def test_errors_are_those_of_the_clipped_records(release, written):
    """The page, its picture and its glance promise nothing about the mean of the records as they were."""
    text = Page((written / "mean.html").read_text(encoding="utf-8")).text
    if release.record["predicted_error"] is not None:
        assert "of the mean of the clipped records with probability 95%" in text
        assert "How far clipping itself moved the result is not among them" in text


def test_the_front_says_what_how_private_and_how_far_off_and_the_rest_is_folded(release, written):
    front, *folded = (written / "mean.html").read_text(encoding="utf-8").split("<details>\n")
    assert len(folded) == 5
    blocks = ("h1", "img", "figcaption", "p", "table")
    read = Page(front + "</main></body></html>")
    assert [tag for tag in read.tags if tag in blocks] == list(blocks)
    said = read.text.replace("\u00a0", " ")
    assert all(words in said for words in in_short(release))


def test_the_scale_can_be_checked_by_hand(release, written):
    """The line with the numbers filled in is arithmetic that gives σ."""
    text = (written / "mean.md").read_text(encoding="utf-8")
    line = re.search(r"^σ = (.*) = (.*)$", text, re.MULTILINE)
    left = re.sub(r"·10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda m: f"e{_ascii(m[1])}", line[1]).replace("·", "*").replace("−", "-")
    assert re.fullmatch(r"[-+*/() 0-9.e]+", left)
    assert eval(left) == pytest.approx(release.record["calibration"]["sigma"], rel=1e-6)


def test_the_markdown_says_the_same(written):
    markdown = (written / "mean.md").read_text(encoding="utf-8")
    read = Page((written / "mean.html").read_text(encoding="utf-8"))
    picture = base64.b64decode(read.links[0][22:])
    assert "](<mean.png>)" in markdown
    assert (written / "mean.png").read_bytes() == picture
    letters = re.sub(r"[\W_]", "", markdown)
    assert [words for words in read.words if re.sub(r"[\W_]", "", words) not in letters] == []
    for row in re.findall(r"^\|.*", markdown, re.MULTILINE):
        assert row.endswith("|")


def test_every_release_can_be_drawn(release, tmp_path):
    plot_release(release, tmp_path / "mean.svg", title="A title")
    assert [file.name for file in tmp_path.iterdir()] == ["mean.svg"]
    text = (tmp_path / "mean.svg").read_text(encoding="utf-8")
    assert "<!-- A title -->" in text
    assert f"of {release.n} " in text
    assert "mechanism" not in text  # no caption inside


def test_a_report_comes_from_the_record_alone(release, written, tmp_path):
    """A release read back from its file, without its data, gives the same page to the last byte."""
    again = sf.Release.from_json(release.to_json())
    assert html(again, tmp_path) == (written / "mean.html").read_text(encoding="utf-8")


def test_an_error_that_nobody_knows_is_not_drawn_nor_stated(objective, tmp_path):
    read = Page(html(objective, tmp_path))
    assert "Nothing public is known of the error" in read.text
    assert "with probability 95%" not in read.text
    plot_release(objective, tmp_path / "mean.png")


def test_a_condition_stands_before_the_promise(objective, tmp_path):
    words = "if the stated sensitivity holds: not checked"
    text = Page(html(objective, tmp_path)).text
    assert f"ε = 1.5, for replacing one person, {words}" in text
    assert f"Promise, {words}." in text
    assert "-differentially private" not in text
    assert "The private" not in text


def test_text_from_users_is_only_text(objective, tmp_path):
    hostile = sf.Release.from_json(
        objective.to_json().replace("one person", '<script src=//evil.example></script>\\n| * `x` \\" & [a](b)')
    )
    read = Page(html(hostile, tmp_path))
    assert "script" not in read.tags
    assert "b" in read.tags  # ours, in the lists
    assert "minimiser of <b>my</b> objective" in read.text
    assert '<script src=//evil.example></script> | * `x` " & [a](b)' in read.text
    write_report(hostile, tmp_path / "mean.md")
    markdown = (tmp_path / "mean.md").read_text(encoding="utf-8")
    assert "<script" not in re.sub(r"\\<", "", markdown)
    assert r"\[a\](b)" in markdown
    row = next(line for line in markdown.splitlines() if line.startswith("| Privacy"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 3


def test_a_draw_for_study_is_not_called_private(tmp_path):
    text = released(sf.KNG, sf.Euclidean(dim=2)).to_json().replace('"private": true', '"private": false')
    words = Page(html(sf.Release.from_json(text), tmp_path)).text
    assert "It is not a private release" in words
    assert "-differentially private" not in words
    drawn = sf.Release.from_json(text).plot()
    assert "not a private release" in drawn.legends[0].get_title().get_text()


def test_a_matrix_that_is_none_is_drawn_as_what_it_is(tmp_path):
    """The eigenvalue that is not positive is marked, and picture and page say so."""
    release = released(sf.AmbientLaplace, sf.SPD(size=2))
    document = re.sub(
        r'"value": \[.*?\]\s*\]', '"value": [[1.0, 2.0], [2.0, 1.0]]', release.to_json(), count=1, flags=re.DOTALL
    )
    broken = sf.Release.from_json(re.sub(r'"on_manifold": \w+', '"on_manifold": false', document))
    figure = broken.plot()
    eigenvalues = figure.axes[-1]
    assert "not positive" in [text.get_text() for text in figure.legends[0].get_texts()]
    assert eigenvalues.get_yscale() == "linear"
    assert "not positive definite" in figure.legends[0].get_title().get_text()
    assert "not a point of the space" in Page(html(broken, tmp_path)).text


def test_the_error_of_the_picture_holds():
    """Points at the stated distance lie in the cap, and between the two matrices, that the picture shows."""
    rng = np.random.default_rng(2)
    for space in (sf.Sphere(dim=2, curvature=0.25), sf.Sphere(dim=4)):
        release = released(sf.ManifoldLaplace, space)
        error, value = release.error(0.95), space.validate(release.value[None])[0]
        others = space.exp(value, error * space.random_directions(value, 50, rng))
        angles = np.arccos(np.clip(others @ value / (value @ value), -1, 1))
        assert (angles <= directions.cap_angle(Subject.of(release), error) * (1 + 1e-9)).all()
        low, high = directions._cap_range(value, directions.cap_angle(Subject.of(release), error))
        assert ((low - 1e-12 <= others) & (others <= high + 1e-12)).all()
    space = sf.SPD(size=3)
    release = released(sf.ManifoldLaplace, space)
    error = release.error(0.95)
    low, high = matrices.matrix_bounds(Subject.of(release), error)
    others = space.exp(release.value, error * space.random_directions(release.value, 50, rng))
    assert np.linalg.eigvalsh(others - low).min() > 0
    assert np.linalg.eigvalsh(high - others).min() > 0


@pytest.mark.parametrize("project", [False, True])
def test_ambient_errors_are_turned_into_what_the_picture_shows(project):
    rng = np.random.default_rng(3)
    release = released(sf.AmbientLaplace, sf.Sphere(dim=2), project=project)
    error, value = release.error(0.95), release.value
    noise = rng.normal(size=(200, 3))
    others = value + error * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    if project:  # the error is then a chord between points of the sphere
        turn = 2 * np.arcsin(error / 2)
        side = np.linalg.svd(value[None])[2][1:]
        others = np.cos(turn) * value + np.sin(turn) * (noise[:, :2] @ side) / np.linalg.norm(
            noise[:, :2], axis=1, keepdims=True
        )
    cosine = others @ value / np.linalg.norm(others, axis=1) / np.linalg.norm(value)
    assert (np.arccos(np.clip(cosine, -1, 1)) <= directions.cap_angle(Subject.of(release), error) + 1e-7).all()

    release = released(sf.AmbientLaplace, sf.SPD(size=3), project=project)
    error = release.error(0.95)
    steps = rng.normal(size=(200, 3, 3))
    steps = np.triu(steps) + np.swapaxes(np.triu(steps, 1), 1, 2)
    sizes = np.linalg.norm(steps if project else np.triu(steps), axis=(1, 2))
    others = release.value + error * steps / sizes[:, None, None]
    low, high = matrices.matrix_bounds(Subject.of(release), error)
    assert np.linalg.eigvalsh(others - low).min() > 0
    assert np.linalg.eigvalsh(high - others).min() > 0


def test_outlines_are_recognised():
    outline = corpus_callosum_template(50)
    assert shapes.looks_like_an_outline(outline)
    assert not shapes.looks_like_an_outline(outline[:18])
    assert not shapes.looks_like_an_outline(np.random.default_rng(0).permutation(outline))
    ball = sf.Ball(sf.PlanarShapes(landmarks=50), outline, 0.1)
    release = sf.private_mean(np.tile(outline, (300, 1, 1)), ball, 1.0)
    areas = []
    for links in (None, range(50)):
        panel = view_of(release).scene(Subject.of(release, links=links)).panels[0]
        areas += [len(mark.edges[0]) for mark in panel.marks if isinstance(mark, Soft)]
    assert areas[0] == 4 < areas[1]  # pieces of a band, discs


@pytest.mark.parametrize(
    ("name", "write"), [("mean.html", write_report), ("mean.md", write_report), ("x.png", plot_release)]
)
def test_a_failed_write_leaves_what_was_there(name, write, tmp_path, monkeypatch):
    release = released(sf.KNG, sf.Euclidean(dim=2))
    for file in (name, "mean.png"):
        (tmp_path / file).write_text("older")
    before = sorted(file.name for file in tmp_path.iterdir())
    monkeypatch.setattr("os.fsync", lambda fd: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        write(release, tmp_path / name)
    assert sorted(file.name for file in tmp_path.iterdir()) == before
    assert all((tmp_path / file).read_text() == "older" for file in before)


def test_other_endings_are_refused_before_anything_is_drawn(tmp_path):
    release = released(sf.KNG, sf.Euclidean(dim=2))
    with pytest.raises(ValueError, match=r"\.html or \.md"):
        write_report(release, tmp_path / "mean.pdf")
    with pytest.raises(ValueError, match=r"\.png or \.svg"):
        plot_release(release, tmp_path / "mean")
    assert list(tmp_path.iterdir()) == []


def test_pictures_leave_the_users_matplotlib_alone(tmp_path):
    import matplotlib
    import matplotlib.pyplot as plt

    before = matplotlib.get_backend(), plt.get_fignums()
    plot_release(released(sf.KNG, sf.Sphere(dim=2)), tmp_path / "mean.png")
    assert (matplotlib.get_backend(), plt.get_fignums()) == before
