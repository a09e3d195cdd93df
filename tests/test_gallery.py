"""The gallery of the documentation: a script and a picture for every space."""

from pathlib import Path

import pytest
from PIL import Image

from sfumato.spaces import all_spaces

GALLERY = Path(__file__).parent.parent / "docs" / "gallery"


@pytest.mark.parametrize("name", [kind.name for kind in all_spaces() if kind.__module__.startswith("sfumato.")])
def test_every_space_has_a_script_and_a_small_picture(name):
    code = (GALLERY / f"{name}.py").read_text(encoding="utf-8")
    assert " Data: " in code.replace("\n", " ")
    assert f'"{name}.png"' in code
    assert (GALLERY / f"{name}.png").stat().st_size < 60_000
    with Image.open(GALLERY / f"{name}.png") as picture:
        assert picture.width <= 900


def test_no_script_is_of_a_space_that_is_gone():
    assert {script.stem for script in GALLERY.glob("*.py")} <= {kind.name for kind in all_spaces()}
