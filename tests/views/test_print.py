"""The report on paper: one or two sheets, with the whole picture on the first.  Needs Chromium and Poppler."""

import base64
import io
import re
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

import sfumato as sf
from sfumato.views.report import write_report

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and shutil.which("pdftocairo")), reason="no Chromium, or no Poppler"),
]
ANGLE = 2 * np.pi * np.arange(24) / 24
TALL = np.stack([np.cos(ANGLE), 3 * np.sin(ANGLE) + 0.2 * np.cos(5 * ANGLE)], axis=1)
SOLID = np.concatenate([TALL, np.cos(3 * ANGLE)[:, None]], axis=1)


def printed(page):
    """Return how many sheets a report takes; and its picture as it is, beside the part of the first sheet where it stands."""
    sheet = page.with_suffix(".pdf")
    told = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={page.parent}/profile",
        "--no-pdf-header-footer",
    ]
    subprocess.run([CHROMIUM, *told, f"--print-to-pdf={sheet}", page.as_uri()], check=True, capture_output=True)
    sheets = int(re.search(r"Pages:\s+(\d+)", run("pdfinfo", sheet))[1])
    (listed,) = run("pdfimages", "-list", sheet).splitlines()[2:]  # one picture, on one sheet
    assert listed.split()[0] == "1"
    drawn = run("pdftocairo", "-svg", "-f", "1", "-l", "1", sheet, "-")
    wide, tall = (int(size) for size in re.search(r'<image id="\w+" width="(\d+)" height="(\d+)"', drawn).groups())
    matrix = re.search(r'<use xlink:href="#image\w+" transform="matrix\(([^)]+)\)"', drawn)[1]
    scale, *_, left, top = (float(number) for number in matrix.split(","))
    box = np.array([left, top, left + scale * wide, top + scale * tall])
    assert box.min() > 20
    subprocess.run(["pdftoppm", "-r", "72", "-png", "-singlefile", sheet, sheet.with_suffix("")], check=True)
    paper = Image.open(sheet.with_suffix(".png")).convert("L")
    assert box[2] < paper.width - 20
    assert box[3] < paper.height - 20
    source = re.search(r'src="data:image/png;base64,([^"]+)"', page.read_text(encoding="utf-8"))[1]
    picture = Image.open(io.BytesIO(base64.b64decode(source))).convert("L")
    seen = paper.crop(tuple(box.round().astype(int)))
    return sheets, picture, seen


def alike(one, two):
    """Return the correlation of two pictures, as far as they are seen from afar."""
    return np.corrcoef(*(np.ravel(each.resize((64, 48), Image.Resampling.BOX)) for each in (one, two)))[0, 1]


def run(*told):
    return subprocess.run([*map(str, told)], check=True, capture_output=True, text=True).stdout


def released(space, center):
    """Return points about a centre, and the region that they lie in."""
    base = space.validate(np.asarray(center, dtype=float)[None])[0]
    steps = 0.02 * np.random.default_rng(0).normal(size=(400, space.dim)) + 0.02
    return space.present(space.exp(base, space.from_coordinates(base, steps))), sf.Ball(space, space.present(base), 0.3)


CASES = {
    "shapes": (sf.PlanarShapes(24), TALL),
    "shapes3d": (sf.Shapes3D(24), SOLID),
    "spd": (sf.SPD(size=12), np.eye(12)),
    "sphere": (sf.Sphere(dim=2), [0.6, 0.0, 0.8]),
    "groups": (sf.PlanarShapes(24), TALL),
}


@pytest.mark.parametrize("name", CASES)
def test_a_report_prints_on_two_sheets_with_its_picture_whole(name, tmp_path):
    points, region = released(*CASES[name])
    page = tmp_path / "mean.html"
    if name == "groups":
        write_report(sf.compare_groups(points, ["a", "b"] * 200, region, 9.0, allow_useless=True), page)
    else:
        write_report(sf.private_mean(points, region, 4.0, mechanism="tangent", allow_useless=True), page)
    sheets, picture, seen = printed(page)
    assert sheets <= 2
    assert alike(picture, seen) > 0.95
    for cut in ((0, 0, picture.width, int(0.5 * picture.height)), (0, 0, int(0.5 * picture.width), picture.height)):
        assert alike(picture.crop(cut), seen) < 0.9  # one that is cut would be found
