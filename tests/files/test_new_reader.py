"""A reader is one file and one line: added to a copy of the package, as CONTRIBUTING.md says."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import sfumato as sf

READER = '''"""PTS: the landmarks of one face as text, between braces."""

import numpy as np

from .base import Contents, Dataset, FileError, Format
from .lines import coordinates, count, lines_of


def read_pts(text: str) -> Contents:
    """Return the landmarks of one face."""
    _, announced, *points = [line for line in lines_of(text) if line.text not in ("{", "}")]
    expected = count(announced.text.partition(":")[2].strip(), announced.number, "n_points")
    if len(points) != expected:
        raise FileError(f"line {announced.number}: {expected} points announced, but {len(points)} follow")
    return {"": Dataset(np.array([[coordinates(point, 2) for point in points]]), "landmarks")}


PTS = Format("PTS", read_pts, looks=lambda words: words.startswith("version: 1"), suffixes=(".pts",))
'''
LINE = '    "pts:PTS",\n'
USE = """
import json, sys
import sfumato as sf
assert sf.__file__.startswith(sys.argv[1]), sf.__file__
data = sf.read(sys.argv[2:])
try:
    sf.read("cut.pts")
except sf.FileError as error:
    refusal = str(error)
print(json.dumps([data.format, data.kind, data.points.tolist(), refusal]))
"""


def test_a_reader_is_one_file_and_one_line(tmp_path):
    package = tmp_path / "sfumato"
    shutil.copytree(Path(sf.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "files" / "pts.py").write_text(READER)
    registry = package / "files" / "registry.py"
    registry.write_text(registry.read_text().replace('    "csv_text:TSV",\n', f'{LINE}    "csv_text:TSV",\n'))
    face = "version: 1\nn_points: 3\n{\n0 0\n4 0\n0 3\n}\n"
    (tmp_path / "ann.pts").write_text(face)
    (tmp_path / "bob.txt").write_text(face.replace("4", "5"))
    (tmp_path / "cut.pts").write_text(face.replace("3\n{", "4\n{"))
    command = [sys.executable, "-c", USE, str(tmp_path), "ann.pts", "bob.txt"]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    format, kind, points, refusal = json.loads(done.stdout)
    assert (format, kind) == ("PTS", "landmarks")
    assert points == [[[0, 0], [4, 0], [0, 3]], [[0, 0], [5, 0], [0, 3]]]
    assert refusal == "cut.pts: line 2: 4 points announced, but 3 follow"
