"""Chain codes (SHAPE's .chc; Iwata and Ukai 2002): outlines as the way from each pixel to the next."""

import re

import numpy as np

from .base import Contents, FileError, Format
from .curves import outlines

_HEADER = r"\s*+(?![0-9.]+\s)(\S++)(?:\s++[+-]?[0-9.]++(?:[eE][+-]?[0-9]++)?){4}"  # whose name is no number
_RECORD = re.compile(_HEADER + r"((?:\s++[0-7](?!\S))++)\s++-1(?!\S)\s*+")
_STEPS = np.array([[1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1], [0, -1], [1, -1]])  # 0 is right, 2 is up


def read_chains(text: str) -> Contents:
    """Return outlines, in pixels from the first, of records: a name, its x and y, mm² a pixel, area, steps 0 to 7, and −1."""
    named = {}
    at = 0
    while at == 0 or at < len(text):
        found = _RECORD.match(text, at)
        if found is None or found[1] in named:
            words = "a name of its own, four numbers, the steps from pixel to pixel (0 to 7) and -1"
            line = text.count("\n", 0, at) + 1
            raise FileError(f"line {line}: a chain-coded outline is {words}; is the file cut?")
        named[found[1]] = np.cumsum(_STEPS[np.array(found[2].split(), dtype=np.intp)], axis=0)
        at = found.end()
    return {"": outlines([*named.values()], [*named], f"{len(named)} chain-coded outlines")}


CHAINS = Format("CHC", read_chains, looks=_RECORD.match, suffixes=(".chc",), curves=True)
