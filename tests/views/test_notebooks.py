"""What a notebook shows, and lines between landmarks."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.views.plots import read_links

TEMPLATE = np.array([[0.0, 0.0], [2.0, 0.0], [3.0, 1.0], [2.0, 2.0], [0.0, 2.0]])


@pytest.fixture(scope="module")
def release():
    points = TEMPLATE + np.random.default_rng(0).normal(0, 0.05, (300, 5, 2))
    return sf.private_mean(points, sf.Ball(sf.PlanarShapes(5), TEMPLATE, 0.15), 1.0)


def test_a_release_shows_its_picture_and_its_words(release):
    page = release._repr_html_()
    assert '<img alt="Released mean of 300 planar shapes of 5 landmarks, beside the public centre, with an' in page
    assert "<b>Promise:</b> the release is 1-differentially private" in page
    assert "http" not in page


def test_plans_show_a_table_and_data_show_no_record(tmp_path):
    rows = sf.plan(sf.SPD(size=2), radius=1.0, n=100, epsilon=1.0)
    assert isinstance(rows, list)
    assert rows._repr_html_().count("<tr>") == len(rows) + 1
    assert rows._repr_html_().count("auto takes this one") == 1
    np.save(tmp_path / "secret.npy", np.full((3, 5, 2), 41.25))
    page = sf.read(tmp_path / "secret.npy")._repr_html_()
    assert "<tr><th>Records</th><td>3</td></tr>" in page
    assert "41.25" not in page


def test_a_picture_is_a_figure_and_a_file(release, tmp_path):
    drawn = release.plot(tmp_path / "mean.png", links=[(0, 1), (1, 2)])
    assert (tmp_path / "mean.png").read_bytes()[:4] == b"\x89PNG"
    joined = [line for line in drawn.axes[0].lines if np.isnan(line.get_xdata()).any() and line.get_linestyle() == "-"]
    assert any(len(line.get_xdata()) == 6 for line in joined)
    with pytest.raises(ValueError, match="none of the 5: 9"):
        release.plot(links=[(0, 8)])


def test_links_are_read_as_they_are_typed(tmp_path):
    file = tmp_path / "links.txt"
    file.write_text("1 2\n2,3\n\n3-1\n")
    assert read_links(str(file), 3) == [(0, 1), (1, 2), (2, 0)]
    assert read_links("1-2,2-3", 3) == [(0, 1), (1, 2)]
    for wrong in ("1-4", "0-1", "a-b", ""):
        with pytest.raises(ValueError, match="write pairs of landmarks from 1 to 3"):
            read_links(wrong, 3)
