"""The page on findings, as a reader types it."""

import re
import shlex

import pytest

import sfumato as sf


def test_the_examples_of_the_page_run(sfumato, pytestconfig, tmp_path, capsys):
    text = (pytestconfig.rootpath / "docs" / "findings.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S)
    names, commands = {}, 0
    for language, block in blocks:
        if language == "python":
            exec(block, names)
            continue
        for command in block.replace("\\\n", " ").splitlines():
            code, _, err = sfumato(*shlex.split(command)[1:])
            assert code == 0, (command, err)
            commands += 1
    assert commands == 4
    assert {path.name for path in tmp_path.iterdir()} >= {
        "heading.json",
        "heading.png",
        "lofts.html",
        "lofts.png",
        "sexes.png",
    }
    quoted = re.search(r"within (0\.\d+) of the released mean \(n = 800", text)[1]
    assert names["release"].region(0.95).radius == pytest.approx(
        float(quoted), rel=0.3
    )  # noise moves it by a few percent
    assert names["found"].difference().differs
    assert sf.Comparison.load("lofts.json").difference().differs
