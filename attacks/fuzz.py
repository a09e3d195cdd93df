"""``python -m attacks.fuzz``: hostile files against every reader.

Each reader is given files that sfumato or the usual packages wrote and that were then damaged: bits flipped, ends cut, parts
of two files joined, counts inflated, text put where numbers belong, and the same inside of compressed parts, which are packed
again so that their sums are right.  Before these come files made by hand: headers that claim 10^12 records, bombs, pickles,
links to other files.  A file must be read whole or refused with the documented exception and a sentence that can be printed,
within a time and a memory that do not depend on what it claims.

The engine ``random`` is deterministic: file number i of a seed is always the same.  The engine ``atheris`` is guided by
coverage and bounded in time.  What offends is saved, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import io
import json
import mmap
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from attacks import Broken, broken, require
from attacks.checks import Case, Found, Settings
from sfumato.errors import printable

CPU_SECONDS = 5  # of processor time that one file may take; a damaged file of some kilobytes takes milliseconds
WALL_SECONDS = 120  # and of the clock, for what waits and does not work
MEMORY = 1 << 30  # bytes of address space that a reader may take beyond what the process has
MOST_FINDINGS = 20  # after which a reader is given up
LONGEST_MESSAGE = 1000


@dataclass(frozen=True)
class Reader:
    """One reader: what makes sound files and hostile ones, how to open a file, and which exceptions it may raise."""

    name: str
    suffix: str
    seeds: Callable[[], list[bytes]]
    open: Callable[[Path, int], None]
    documented: Callable[[], tuple[type[Exception], ...]]
    hostile: Callable[[], dict[str, bytes]] = dict
    text: bool = False
    words: tuple[bytes, ...] = ()
    inside: Callable[[bytes, Callable[[bytes], bytes]], bytes] | None = None  # damage what is packed, and pack it again


@dataclass(frozen=True)
class Finding:
    """A file that was neither read nor refused as documented."""

    index: int
    what: str
    file: Path


@dataclass(frozen=True)
class Outcome:
    """What became of the files given to one reader."""

    reader: str
    files: int
    read: int
    refused: int
    findings: list[Finding]
    seconds: float
    megabytes: float  # by which the resident memory of the process grew

    def __str__(self) -> str:
        rate = self.files / max(self.seconds, 1e-9)
        return (
            f"{self.files} files: {self.read} read, {self.refused} refused, {len(self.findings)} findings; "
            f"{rate:.0f} files/s, memory grew by {self.megabytes:.0f} MB"
        )


# -- damage --------------------------------------------------------------------------------------------------------------
_INTEGERS = (
    0, 1, 2, 3, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 10**12, 2**63 - 1, 2**64 - 1,
)  # fmt: skip
_NUMBERS = (
    b"1000000000000", b"-1", b"0", b"1", b"2", b"3", b"99999999999999999999", b"1e308", b"-1e309", b"1e-400", b"nan", b"NA",
    b"inf", b"0x10", b"1_0", b"1,5", b"", b".", b"-", b"+", b"1e", b"\xd9\xa3", b"(1, 1)", b"True", b"None",
)  # fmt: skip
_MARKS = (
    b"\x00", b"\n", b"\r", b"\r\n", b"\n\n", b"\t", b" ", b",", b";", b"=", b'"', b"'", b"[", b"]", b"(", b"#", b"\xff\xfe",
    b"\xfe\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\x1a", b"\xff", b"\x85", b"\x0c", b"\x1b[31m",
)  # fmt: skip
_DIGITS = re.compile(rb"[-+]?[0-9][0-9.eE+-]*")


def damaged(content: bytes, chance: random.Random, seeds: list[bytes], text: bool, words: tuple[bytes, ...]) -> bytes:
    """The content after one to four blows, half of them at where the format keeps its counts: the first bytes."""
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        if not content:
            break
        at = chance.randrange(len(content) if chance.random() < 0.5 else min(len(content), 400))
        blow = chance.randrange(12)
        if blow == 0:
            content = _put(content, at, bytes([content[at] ^ 1 << chance.randrange(8)]))
        elif blow == 1:
            content = content[:at]
        elif blow == 2:
            other = chance.choice(seeds)
            content = content[:at] + other[chance.randrange(len(other) + 1) :]
        elif blow == 3:
            content = _put(content, at, bytes([chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))]))
        elif blow in (4, 5) and not text:
            form = chance.choice(("<I", ">I", "<Q", ">Q", "<H", ">H"))
            content = _put(content, at, struct.pack(form, chance.choice(_INTEGERS) % 256 ** struct.calcsize(form)))
        elif blow in (4, 5, 6, 7):  # a number becomes another
            found = list(_DIGITS.finditer(content, 0, 20_000))
            if found:
                one = chance.choice(found[:12] if chance.random() < 0.4 else found)
                content = content[: one.start()] + chance.choice(_NUMBERS) + content[one.end() :]
        elif blow == 8:
            piece = chance.choice((*_MARKS, *words))
            content = content[:at] + piece + content[at:]
        elif blow == 9:
            end = min(len(content), at + chance.choice((1, 2, 4, 8, 40, 200)))
            content = content[:at] + content[end:]
        elif blow == 10:
            piece = content[at : at + chance.choice((1, 4, 8, 40, 200))]
            content = content[:at] + piece * chance.choice((2, 3, 10)) + content[at:]
        elif text:  # lines change places
            lines = content.splitlines(keepends=True)
            i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
            content = b"".join(lines)
        else:
            content = content[:at] + bytes(chance.choice((1, 4, 16))) + content[at:]
    if chance.random() < 0.002:  # one byte over and over: long lines, deep nesting
        at = chance.randrange(len(content) + 1)
        content = (
            content[:at]
            + chance.choice((b" ", b"9", b"[", b'"', b"(", b"a", b"\n", b"1 ", b"=")) * 30_000
            + content[at:]
        )
    return content


def _put(content: bytes, at: int, piece: bytes) -> bytes:
    return content[:at] + piece + content[at + len(piece) :]


def mutant(reader: Reader, seed: int, index: int) -> bytes:
    """File number ``index`` of a seed: first those made by hand, then damaged ones."""
    hostile, seeds = _stock(reader.name)
    if index < len(hostile):
        return hostile[index]
    chance = random.Random(f"{seed} {reader.name} {index}")
    content = chance.choice(seeds)
    if chance.random() < 0.02:  # sound, so that a reader that refuses everything is noticed
        return content
    return _struck(reader, content, chance, _blows(reader, chance, seeds))


def _blows(reader: Reader, chance: random.Random, seeds: list[bytes]) -> Callable[[bytes], bytes]:
    return partial(damaged, chance=chance, seeds=seeds, text=reader.text, words=reader.words)


def _struck(reader: Reader, content: bytes, chance: random.Random, blow: Callable[[bytes], bytes]) -> bytes:
    """The content after a blow: more often than not to what is packed in it, if it can be unpacked."""
    if reader.inside is not None and chance.random() < 0.6:
        try:
            return reader.inside(content, blow)
        except Exception:  # it is damaged already, and unpackers raise many kinds
            return blow(content)
    return blow(content)


@cache
def _stock(name: str) -> tuple[list[bytes], list[bytes]]:
    reader = READERS[name]
    return list(reader.hostile().values()), reader.seeds()


def _in_gzip(content: bytes, blow: Callable[[bytes], bytes]) -> bytes:
    if content.startswith(b"\x1f\x8b"):
        return gzip.compress(blow(gzip.decompress(content)), 1, mtime=0)
    return blow(content)


def _in_zip(content: bytes, blow: Callable[[bytes], bytes]) -> bytes:
    """The first member of an archive damaged, its sum right."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(packed, "w") as archive:
        for i, name in enumerate(source.namelist()):
            member = source.read(name)
            archive.writestr(zipfile.ZipInfo(name), member if i else blow(member))
    return packed.getvalue()


def _in_mat(content: bytes, blow: Callable[[bytes], bytes]) -> bytes:
    """The first element of a version 5 file damaged within, packed again."""
    kind, size = struct.unpack_from("<II", content, 128)
    element = content[136 : 136 + size]
    element = zlib.compress(blow(zlib.decompress(element)), 1) if kind == 15 else blow(element)
    return content[:128] + struct.pack("<II", kind, len(element)) + element + content[136 + size :]


# -- sound files ---------------------------------------------------------------------------------------------------------
def _numbers(*shape: int) -> Any:
    import numpy as np

    return np.round(np.random.default_rng(5).normal(size=shape), 3)


def _written(write: Callable[..., object], *arguments: Any, **options: Any) -> bytes:
    """What a writer puts into a file."""
    buffer = io.BytesIO()
    write(buffer, *arguments, **options)
    return buffer.getvalue()


def _table(columns: dict[str, Any], **options: Any) -> bytes:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table(columns)
    return _written(lambda buffer: pyarrow.parquet.write_table(table, buffer, **options))


def _tps() -> list[bytes]:
    triangle = "0 0\n1 0\n0.5 1e0\n"
    return [
        f"LM=3\n{triangle}ID=a\nSCALE=0.5\nLM=3\n{triangle}ID=b\nSCALE=1\n".encode(),
        "LM=1\n0 0\nCURVES=1\nPOINTS=2\n1 0\n0 1\nIMAGE=a.jpg\nLM=1\n1 1\nCURVES=1\nPOINTS=2\n1 0\n0 1\n".encode(
            "utf-16"
        ),
        f"LM=3\r\n{triangle}COMMENT=x\r\nVARIABLES=a = b\r\nOUTLINES=1\r\nPOINTS=1\r\nNA NA\r\n".encode(),
        b"LM3=3\n0 0 1\n1 0 2\n0 1 3\nCURVES=1\nPOINTS=3\n0 0 0\n1 0 1\n-999 -999 -999\nID=a\n",
    ]


def _fcsv() -> list[bytes]:
    columns = "id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc,associatedNodeID"
    points = "".join(f"{i},{i}.5,{i * i},-1e{i},0,0,0,1,1,1,0,F-{i},,,2,0\n" for i in range(5))
    return [
        f"# Markups fiducial file version = 4.11\n# CoordinateSystem = {system}\n# columns = {columns}\n{points}".encode()
        for system in ("LPS", "0")
    ]


def _markups() -> list[bytes]:
    def points(count: int) -> list[dict[str, Any]]:
        return [
            {"id": str(i), "label": f"F-{i}", "position": [i, 0.5, i * i], "positionStatus": "defined"}
            for i in range(count)
        ]

    one = {"type": "Fiducial", "coordinateSystem": "LPS", "controlPoints": points(5)}
    curve = {"type": "Curve", "coordinateSystem": "RAS", "controlPoints": points(3)}
    return [
        json.dumps({"@schema": "markups-schema-v1.0.3.json#", "markups": held}).encode()
        for held in ([one], [one, curve])
    ]


def _nts() -> list[bytes]:
    return [
        b'"a comment\n\n1 2L 6 1 -999 DIM=2\na b\n0 0 1 0 0 1\n0 0 2 0 -999 1\n',
        b"1 2B 6 0 DIM=2\na 0 0 1 0 0 1\nb 0 0 2 0 0 1\n",
        b"1 3 2 0 DIM=2\n0 0\n1 0\n0 1\n",
        b"1 2L 9 1 -999 DIM=3\na b\n0 0 1 0 0 1 1 2 3\n0 0 2 0 -999 1 1 2 3\n",
        b"1 2E 6L 0 DIM=2\nq w e r t y\n0 0 1 0 0 1 a\n0 0 2 0 0 1 b\n",
    ]


def _morphologika() -> list[bytes]:
    points = "'1\n0 0\n1 0\n0 1\n'2\n0 0\n2,0\n0 1\n"
    head = "[individuals]\n2\n[landmarks]\n3\n[dimensions]\n2\n"
    return [
        f"{head}[names]\na\nb\n[labels]\nsex age\n[labelvalues]\nf 1\nm 2\n[rawpoints]\n{points}".encode(),
        f"{head}[rawpoints]\n{points}".encode(),
    ]


def _csv() -> list[bytes]:
    return [
        b"id,x1,y1,x2,y2,x3,y3\na,0,0,1,0,0,1\nb,0,0,2,0,0,1\n",
        b"specimen,landmark,x,y,sex\na,1,0,0,f\na,2,1,0,f\na,3,0,1,f\nb,1,0,0,m\nb,2,2,0,m\nb,3,0,1,m\n",
        b"Dxx,Dxy,Dyy,site\n2,0.5,1,a\n3,-0.5,1,b\n",
        b"m1_1;m1_2;m2_1;m2_2\n2,5;0,5;0,5;1\n3;0;0;1\n",
        b"# a comment\nlat,lon,who\n10,20,a\n-11.5,21,b\n",
        b'"x" "y" "z" "w"\n"1" 0.1 0.2 0.3 0.4\n"2" 0.2 NA 0.1 1e-3\n',
        b"1,2,3,4\n5,6,7,8\n",
    ]


def _tsv() -> list[bytes]:
    return [content.replace(b",", b"\t").replace(b";", b"\t") for content in _csv()[:5]]


def _json() -> list[bytes]:
    return [
        b"[[[0, 0], [1, 0], [0, 1]], [[0, 0], [2, 0], [0, null]]]",
        b'{"study": {"coords": [[[0, 0], [1, 0], [0, 1]]], "age": [30]}, "note": "x"}',
        b'[{"lat": 10, "lon": 20.5, "who": "a", "more": [1]}, {"lat": -1e1, "lon": 21, "who": null}]',
        b'{"features": [{"geometry": {"type": "Point", "coordinates": [10, 20, 3]}, "properties": {"mag": 4}}]}',
    ]


def _hostile_json() -> dict[str, bytes]:
    return {
        "brackets without end": b"[" * 200_000,
        "long digits": b"[[" + b"9" * 100_000 + b"]]",
        "objects within objects": b'{"a":' * 500 + b"1" + b"}" * 500,
        "one deep list": b"[" * 90 + b"1" + b"]" * 90,
        "a feature of nothing": b'{"features": [null, 1]}',
    }


def _parquet() -> list[bytes]:
    wide = {"id": ["a", "b"], **{f"{axis}{i}": [0.0 + i, 1.0] for i in range(1, 4) for axis in "xy"}}
    tensors = {
        "Dxx": [2.0, 3.0],
        "Dxy": [0.5, None],
        "Dyy": [1.0, 1.0],
        "n": [1, 2],
        "ok": [True, False],
        "day": [b"x", b"y"],
    }
    return [
        _table(columns, compression=codec, use_dictionary=dictionary)
        for columns in (wide, tensors)
        for codec, dictionary in (("none", False), ("snappy", True), ("zstd", True))
    ]


def _npy() -> list[bytes]:
    import numpy as np

    arrays = [_numbers(2, 5, 2), _numbers(3, 3, 3), _numbers(2, 4).astype(">f4"), np.asfortranarray(_numbers(2, 5, 2))]
    arrays += [_numbers(2, 5) + 1j, np.arange(10, dtype=np.uint8).reshape(2, 5)]
    contents = [_written(np.save, array, allow_pickle=False) for array in arrays]
    return [*contents, npy_header((2, 4), "<f16") + random.Random(5).randbytes(128)]


def _npz() -> list[bytes]:
    import numpy as np

    arrays = {"coords": _numbers(2, 5, 2), "subject": np.array(["a", "bc"])}
    arrays |= {"code": np.array([b"x", b"y"]), "age": np.arange(2)}
    return [_written(save, **arrays) for save in (np.savez, np.savez_compressed)]


def _mat() -> list[bytes]:
    import numpy as np
    from scipy.io import savemat

    contents = []
    names = np.array(["a", "bcd"], dtype=object)
    for compressed in (False, True):
        for variables in (
            {"coords": _numbers(5, 2, 2), "sex": ["f", "m"]},
            {"names": names, "X": _numbers(3, 4) + 1j, "s": {"a": 1}},
            {"X": np.arange(12, dtype=np.int16).reshape(3, 4)},
        ):
            content = _written(savemat, variables, do_compression=compressed)
            contents.append(b"MATLAB 5.0 MAT-file".ljust(116) + content[116:])  # without the time
    return contents


MAT73 = b"MATLAB 7.3 MAT-file, Platform: GLNXA64"


def mat73(fill: Callable[[Any], None]) -> bytes:
    """A version 7.3 file, which is HDF5 after a block of 512 bytes."""
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=512) as file:
        fill(file)
    return MAT73.ljust(512) + buffer.getvalue()[512:]


def _mat73() -> list[bytes]:
    def plain(file: Any) -> None:
        file["coords"] = _numbers(2, 2, 5)
        file["coords"].attrs["MATLAB_class"] = b"double"
        file["age"] = [[1.0, 2.0]]

    def packed(file: Any) -> None:
        file.create_dataset("X", data=_numbers(4, 3), chunks=(2, 3), compression="gzip", shuffle=True, fletcher32=True)
        file.create_group("g")["y"] = [1.0]

    return [mat73(plain), mat73(packed)]


def _r() -> list[bytes]:
    import rdata

    plain = []
    held: dict[str, Any] = {"coords": _numbers(5, 2, 2), "age": _numbers(2), "who": ["a", "b"]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.rds")
        for form in ("xdr", "ascii"):
            for write, value in ((rdata.write_rds, held["coords"]), (rdata.write_rds, held), (rdata.write_rda, held)):
                write(path, value, compression=None, file_format=form)
                plain.append(path.read_bytes())
        ragged = {"a": _numbers(4, 2), "b": _numbers(6, 2)}
        for lists in ({"coo": ragged, "who": ["a", "b"]}, {"wild": ragged, "tame": [_numbers(5, 2)]}):
            rdata.write_rda(path, {"out": lists}, compression=None)
            plain.append(path.read_bytes())
    return plain + [gzip.compress(content, mtime=0) for content in plain]


def _release() -> list[bytes]:
    import numpy as np

    from sfumato import Ball, PlanarShapes, Sphere, private_mean

    sphere = private_mean(np.eye(3)[[0] * 50], Ball(Sphere(dim=2), [1, 0, 0], 0.3), 1.0)
    triangle = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    shape = private_mean(np.array([triangle] * 50), Ball(PlanarShapes(landmarks=3), triangle, 0.1), 1.0)
    values = (sphere, np.array([1.0, 0.0, 0.0])), (shape, np.array(triangle))  # which, as the time, are not drawn here
    return [replace(made, value=value, time="2020-01-01").to_json().encode() for made, value in values]


def _ledger() -> list[bytes]:
    from unittest.mock import patch

    from sfumato.release.ledger import Ledger

    with (
        tempfile.TemporaryDirectory() as folder,
        patch("sfumato.release.chain.now", return_value="2020-01-01T00:00:00+00:00"),
    ):
        path = Path(folder, "a.ledger")
        budget = Ledger.create(path, "3", "wings")
        for _ in range(4):
            budget.charge("0.5", {"statistic": "mean", "n": 3})
        return [path.read_bytes()]


# -- files made by hand --------------------------------------------------------------------------------------------------
def _hostile_tps() -> dict[str, bytes]:
    return {
        "10^12 landmarks": b"LM=1000000000000\n0 0\n1 0\n0 1\n",
        "10^12 curves": b"LM=3\n0 0\n1 0\n0 1\nCURVES=1000000000000\n",
        "blanks without end": b"LM=3\n0 0\n1 0\n0 1\nA" + b" " * 100_000 + b"!\n",
        "a long number": b"LM=3\n" + b"9" * 100_000 + b"x 0\n1 0\n0 1\n",
        "a path": b"LM=3\n0 0\n1 0\n0 1\nIMAGE=../../../../etc/passwd\n",
        "many wide labels": b"".join(
            b"LM=3\n0 0\n1 0\n0 1\n" + b"".join(b"K%d=%s\n" % (k, b"x" * (100_000 if i == 0 else 1)) for k in range(30))
            for i in range(800)
        ),
    }


def _hostile_fcsv() -> dict[str, bytes]:
    return {
        "many columns": b"# columns = id," + b"x," * 100_000 + b"y,z,label\n1,2,3\n",
        "blanks without end": b"# CoordinateSystem = " + b" " * 100_000 + b"!\n0,1,2,3\n",
        "a long label": b"# Markups fiducial file\n0,1,2,3,0,0,0,1,1,1,0," + b"9" * 100_000 + b"x,,\n",
    }


def _hostile_markups() -> dict[str, bytes]:
    return {
        "deep": b'{"markups": ' + b"[" * 100_000,
        "numbers without end": b'{"markups": [{"controlPoints": [{"position": [' + b"9" * 5000 + b", 1, 2]}]}]}",
        "many lists": b'{"markups": [' + b'{"controlPoints": []},' * 20_000 + b'{"controlPoints": []}]}',
    }


def _chc() -> list[bytes]:
    return [
        b"a_1 10 20 0.25 9 0 0 2 2 4 4 6 6 -1\nb_1 1 2 0.25 12 0 0 0 2 2 4 4 4 6 6 -1\n",
        b"a_1 -1 0 1 3\n0 2 4 6 1 3 5 7\n-1 b 0 0 1.5e-2 3 7 7 5 3 1 -1",
    ]


def _hostile_chc() -> dict[str, bytes]:
    return {
        "no end": b"a_1 0 0 1 1" + b" 0" * 30_000,
        "many names": b"\n".join(b"%d_ 0 0 1 1 0 2 4 6 -1" % i for i in range(2000)),
        "blanks without end": b"a_1 0 0 1 1 0 " + b" " * 60_000,
    }


def _hostile_nts() -> dict[str, bytes]:
    return {
        "10^12 specimens": b"1 1000000000000L 6 0 DIM=2\na 0 0 1 0 0 1\n",
        "10^36 numbers": b"1 999999999999999999 999999999999999999 0 DIM=2\n0 0\n",
        "comments and blank lines": b'"c\n\n' * 400 + b"x\n",
        "comments without end": b'"' * 60_000,
    }


def _hostile_morphologika() -> dict[str, bytes]:
    head = b"[individuals]\n%s\n[landmarks]\n3\n[dimensions]\n2\n[rawpoints]\n'1\n0 0\n1 0\n0 1\n"
    return {
        "10^12 individuals": head % b"1000000000000",
        "blanks in a heading": b"[individuals]\n1\n[a" + b" " * 100_000 + b"b\n",
        "no name after the apostrophe": head % b"1" + b"'\n",
    }


def _hostile_csv() -> dict[str, bytes]:
    return {
        "60000 columns": b",".join(b"c%d" % i for i in range(60_000)) + b"\n" + b",".join([b"1"] * 60_000) + b"\n",
        "a long number": b"a,b\n" + b"9" * 100_000 + b"x,1\n",
        "a long name": b"x" + b"1" * 5000 + b",y" + b"1" * 5000 + b",x2,y2,x3,y3\n1,2,3,4,5,6\n",
        "a long field": b"a,b\n" + b"z" * 500_000 + b",1\n",
        "an open quote": b'a,b\n"' + b"1,2\n" * 20_000,
        "wide columns": b",".join(b"c%d" % i for i in range(60))
        + b"\n"
        + b",".join([b"x" * 30_000] * 60)
        + b"\n"
        + (b",".join([b"y"] * 60) + b"\n") * 3000,
        "escapes for a terminal": b"\x1b[2J,\x07\n1,a\n",
    }


def _hostile_parquet() -> dict[str, bytes]:
    import numpy as np
    import pyarrow

    packed = partial(_table, compression="zstd")
    word = pyarrow.DictionaryArray.from_arrays(np.zeros(20_000, dtype=np.int32), ["a" * 400_000])
    binary = pyarrow.DictionaryArray.from_arrays(np.zeros(20_000, dtype=np.int32), [b"a" * 400_000])
    return {
        "a bomb of zeros": packed({"a": np.zeros(10_000_000)}),
        "one long text in many rows": packed({"a": np.zeros(20_000), "b": word}),
        "the same in bytes": packed({"a": np.zeros(20_000), "b": binary}),
        "nested lists": packed({"a": [[[1.0]]], "b": [{"c": 1}]}),
    }


def npy_header(shape: object, descr: object = "<f8") -> bytes:
    """The header of an NPY file that claims what it likes."""
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def _hostile_npy() -> dict[str, bytes]:
    import numpy as np

    return {
        "10^12 records": npy_header((10**12, 5, 2)) + bytes(80),
        "no records of 10^12 numbers": npy_header((0, 10**12)),
        "pickled objects": _written(np.save, np.array([{"a": 1}], dtype=object), allow_pickle=True),
        "seventy axes": npy_header((1,) * 70) + bytes(8),
        "numbers of an array type": npy_header((2,), ("<f8", (3,))) + bytes(48),
        "wide values": npy_header((1,), "|V1000000000") + bytes(80),
        "nested brackets": npy_header("(" * 3000 + ")" * 3000),
        "true and false": npy_header((True, True, 2)) + bytes(16),
    }


def _zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, member in members.items():
            archive.writestr(zipfile.ZipInfo(name), member, method)
    return buffer.getvalue()


def _hostile_npz() -> dict[str, bytes]:
    big = npy_header((10 << 17, 8)) + bytes(80 << 20)
    bomb = _zipped({"points.npy": big})
    lying = bytearray(bomb)
    at = bomb.rindex(b"PK\x01\x02")
    struct.pack_into("<I", lying, at + 24, 1000)
    huge = bytearray(_zipped({"points.npy": bytes(100)}, zipfile.ZIP_STORED))
    at = bytes(huge).rindex(b"PK\x01\x02")
    struct.pack_into("<I", huge, at + 24, 2**32 - 2)
    array = npy_header((2, 5, 2)) + bytes(160)
    return {
        "a bomb": bomb,
        "a bomb that lies": bytes(lying),
        "a member that claims 4 GB": bytes(huge),
        "paths out of the folder": _zipped({"../../../../tmp/points.npy": array}),
        "other compression": _zipped({"points.npy": array}, zipfile.ZIP_LZMA),
        "pickled objects": _zipped({"points.npy": _hostile_npy()["pickled objects"]}),
        "ten thousand members": _zipped({f"{i}.npy": b"" for i in range(10_000)}, zipfile.ZIP_STORED),
    }


def _hostile_mat() -> dict[str, bytes]:
    import numpy as np
    from scipy.io import savemat

    head = _mat()[0][:128]

    def compressed(element: bytes) -> bytes:
        packed = zlib.compress(element, 1)
        return head + struct.pack("<II", 15, len(packed)) + packed

    def array(shape: tuple[int, ...], data: bytes) -> bytes:
        sizes = struct.pack(f"<{len(shape)}i", *shape)
        sizes += bytes(-len(sizes) % 8)
        parts = struct.pack("<IIII", 6, 8, 6, 0) + struct.pack("<II", 5, 4 * len(shape)) + sizes
        parts += struct.pack("<II", 1, 1) + b"X" + bytes(7) + struct.pack("<II", 9, len(data)) + data
        return struct.pack("<II", 14, len(parts)) + parts

    who = np.array(["a" * 60_000, *["b"] * 3000], dtype=object)
    return {
        "a bomb": compressed(array((10 << 10, 1 << 10), bytes(80 << 20))),
        "10^12 numbers": head + array((10**6, 10**6), bytes(80)),
        "a hundred axes": head + array((1,) * 100, bytes(8)),
        "one wide cell": head + _written(savemat, {"X": _numbers(3, 4), "who": who})[128:],
        "an element of 4 GB": head + struct.pack("<II", 14, 2**32 - 1),
    }


def _hostile_mat73() -> dict[str, bytes]:
    import h5py
    import numpy as np

    def huge(file: Any) -> None:
        file.create_dataset("X", shape=(10**12, 4), dtype="f8", chunks=(16, 4))

    def external(file: Any) -> None:
        file["X"] = h5py.ExternalLink("/etc/passwd", "/X")

    def soft(file: Any) -> None:
        file["X"] = h5py.SoftLink("/X")

    def stored_elsewhere(file: Any) -> None:
        file.create_dataset("X", shape=(4, 3), dtype="f8", external=[("/etc/passwd", 0, 96)])

    def virtual(file: Any) -> None:
        layout = h5py.VirtualLayout(shape=(4, 3), dtype="f8")
        layout[:] = h5py.VirtualSource("/etc/passwd", "X", shape=(4, 3))
        file.create_virtual_dataset("X", layout)

    def words(file: Any) -> None:
        file.create_dataset("X", data=[["a" * 100] * 20] * 20, dtype=h5py.string_dtype())

    def large_chunks(file: Any) -> None:  # two gigabytes for twelve numbers
        shape, chunks = (4, 3), (1 << 14, 1 << 14)
        file.create_dataset("X", shape=shape, dtype="f8", chunks=chunks, maxshape=(None, None), compression="gzip")

    def unknown_filter(file: Any) -> None:
        data = file.create_dataset(
            "X", shape=(4, 3), dtype="f8", chunks=(4, 3), compression=32008, allow_unknown_filter=True
        )
        data.id.write_direct_chunk((0, 0), bytes(96))

    def bomb(file: Any) -> None:
        file.create_dataset("X", data=np.zeros((1 << 23, 2)), chunks=(1 << 18, 2), compression="gzip")

    makers = (huge, external, soft, stored_elsewhere, virtual, words, large_chunks, unknown_filter, bomb)
    return {make.__name__: mat73(make) for make in makers}


def _hostile_r() -> dict[str, bytes]:
    head = b"X\n" + struct.pack(">3i", 3, 0x40000, 0x30500) + struct.pack(">i", 5) + b"UTF-8"
    return {
        "10^12 landmarks": head + struct.pack(">iiii", 14, -1, 232, 10**12 % 2**31) + bytes(16),
        "a bomb": gzip.compress(head + bytes(80 << 20), 1, mtime=0),
        "a bomb in a bomb": gzip.compress(gzip.compress(bytes(80 << 20), 1, mtime=0), mtime=0),
        "deep nesting": head + struct.pack(">i", 0x402) * 100_000,
        "nested lists": head + struct.pack(">ii", 19, 1) * 50_000,
        "a closure": head + struct.pack(">i", 3) + struct.pack(">i", 254) * 3,
        "a list of 2^31 - 1": head + struct.pack(">ii", 19, 2**31 - 1),
        "a sequence of 10^15": head
        + struct.pack(">iii", 238, 2, 1)
        + struct.pack(">ii", 0x40009, 14)
        + b"compact_intseq"
        + struct.pack(">iii", 254, 14, 3)
        + struct.pack(">ddd", 1e15, 1, 1)
        + struct.pack(">i", 254),
        "one wide text": head
        + struct.pack(">ii", 16, 20_001)
        + struct.pack(">ii", 0x40009, 400_000)
        + b"a" * 400_000
        + (struct.pack(">ii", 0x40009, 1) + b"b") * 20_000,
    }


def _hostile_release() -> dict[str, bytes]:
    sound = json.loads(_release()[1])
    sound.pop("sha256", None)

    def with_(**changes: Any) -> bytes:
        return json.dumps({**sound, **changes}).encode()

    space = sound["space"]
    return {
        "nested brackets": b"[" * 200_000,
        "10^12 landmarks": with_(space={**space, "parameters": {"landmarks": 10**12}}),
        "a matrix of 10^5 rows": with_(space={"name": "spd", "metric": "", "parameters": {"size": 10**5}}),
        "a value that is no number": with_(value=[[None, 0], [1, 1], [1, 1]]),
        "a value that is not finite": with_(value=[[float("nan"), 0], [1, 1], [1, 1]]),
        "an epsilon in words": with_(guarantee={**sound["guarantee"], "epsilon": "1"}),
        "long digits": b'{"format": ' + b"9" * 100_000 + b"}",
        "lists for names": with_(space=[1], ball=3, calibration=[]),
        "not UTF-8": b'{"format": "\xff"}',
    }


def _hostile_ledger() -> dict[str, bytes]:
    return {"empty": b"", "text": b"sequence,kind\n", "zeros": bytes(8192), "a stump": _ledger()[0][:100]}


# -- opening -------------------------------------------------------------------------------------------------------------
@cache
def _spaces() -> list[Any]:
    from sfumato.spaces import SPD, Euclidean, PlanarShapes, Sphere

    return [None, None, PlanarShapes(5), PlanarShapes(3), SPD(3), SPD(2), Sphere(2), Euclidean(4)]


def _open_data(path: Path, index: int) -> None:
    """Read, and see that what came out is whole."""
    import numpy as np

    from sfumato.files import read

    spaces = _spaces()
    data = read(path, spaces[index % len(spaces)], curves=(None, "drop", 3)[index // len(spaces) % 3])
    points, ranks = data.points, {"landmarks": 3, "matrices": 3, "vectors": 2}
    require(
        points.dtype == np.float64 and points.flags.c_contiguous and points.ndim == ranks[data.kind] and points.size,
        "what was read is not whole",
    )
    for name, label in data.labels.items():
        require(
            isinstance(name, str) and label.shape == (len(points),) and label.dtype.kind in "biufU", f"label {name!r}"
        )


def _open_release(path: Path, index: int) -> None:
    from sfumato.release import Release

    release = Release.load(path)
    require(
        release.describe() and Release.from_json(release.to_json()).value.shape == release.value.shape,
        "what was read is not whole",
    )


def _open_ledger(path: Path, index: int) -> None:
    from sfumato.release.ledger import Ledger

    spent = dict(Ledger(path).verify().spent)
    require({name: str(total) for name, total in spent.items()} == {"wings": "2"}, f"the charges are now {spent}")


def _file_error() -> tuple[type[Exception], ...]:
    from sfumato.files import FileError

    return (FileError,)


def _ledger_error() -> tuple[type[Exception], ...]:
    from sfumato.errors import LedgerError

    return (LedgerError,)


def _value_error() -> tuple[type[Exception], ...]:
    return (ValueError,)


_LANDMARKS = (b"LM=", b"LM3=3\n", b"POINTS=2\n", b"CURVES=1\n", b"ID=", b"SCALE=")
_SECTIONS = (b"[names]", b"[labels]\n", b"[rawpoints]", b"'", b"[")
_COLUMNS = (b"x1", b"specimen", b"lat", b"Dxy", b'"', b'""', b"z", b"0,5", b"\t")
_TYPES = (b"'|O'", b"'<U9'", b"'<c16'", b"(2, 2)", b"True")
_VALUES = (b"null", b"{}", b"[]", b"NaN", b"1e999")


def _data(
    name: str, suffix: str, seeds: Callable[[], list[bytes]], hostile: Callable[[], dict[str, bytes]], **more: Any
) -> Reader:
    return Reader(name, suffix, seeds, _open_data, _file_error, hostile, **more)


READERS = {
    reader.name: reader
    for reader in (
        _data("tps", ".tps", _tps, _hostile_tps, text=True, words=_LANDMARKS),
        _data(
            "nts", ".nts", _nts, _hostile_nts, text=True, words=(b"DIM=", b"L", b"B", b"E", b'"', b"1 2 6 0 DIM=2\n")
        ),
        _data(
            "fcsv",
            ".fcsv",
            _fcsv,
            _hostile_fcsv,
            text=True,
            words=(b"# columns = id,x,y,z,label\n", b"RAS", b'"', b","),
        ),
        _data("markups", ".mrk.json", _markups, _hostile_markups, text=True, words=(*_VALUES, b'"RAS"', b'"Curve"')),
        _data("chc", ".chc", _chc, _hostile_chc, text=True, words=(b"-1", b" 7", b"c_1 0 0 1 1 ")),
        _data("morphologika", ".txt", _morphologika, _hostile_morphologika, text=True, words=_SECTIONS),
        _data("csv", ".csv", _csv, _hostile_csv, text=True, words=_COLUMNS),
        _data("tsv", ".tsv", _tsv, dict, text=True, words=_COLUMNS),
        _data("json", ".json", _json, _hostile_json, text=True, words=_VALUES),
        _data("parquet", ".parquet", _parquet, _hostile_parquet),
        _data("npy", ".npy", _npy, _hostile_npy, words=_TYPES),
        _data("npz", ".npz", _npz, _hostile_npz, inside=_in_zip),
        _data("mat", ".mat", _mat, _hostile_mat, inside=_in_mat),
        _data("mat73", ".mat", _mat73, _hostile_mat73),
        _data("r", ".rds", _r, _hostile_r, inside=_in_gzip),
        Reader("release", ".json", _release, _open_release, _value_error, _hostile_release, text=True, words=_VALUES),
        Reader("ledger", ".ledger", _ledger, _open_ledger, _ledger_error, _hostile_ledger),
    )
}


def attempt(reader: Reader, path: Path, index: int) -> bool:
    """Open a file: True if it was read, False if it was refused as documented; anything else is raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            reader.open(path, index)
    except reader.documented() as error:
        words = str(error)
        if printable(words) != words or len(words) > LONGEST_MESSAGE:
            raise Broken(f"a message that cannot be printed, or of {len(words)} characters") from error
        return False
    return True


# -- the engine that counts ----------------------------------------------------------------------------------------------
@dataclass
class _Tally:
    """Numbers that a process shares with the one that watches it."""

    memory: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, 64))

    def put(self, index: int, read: int, refused: int) -> None:
        struct.pack_into("<QQQ", self.memory, 0, index, read, refused)

    def get(self) -> tuple[int, int, int]:
        index, read, refused = struct.unpack_from("<QQQ", self.memory)
        return index, read, refused

    def note_memory(self, before: int) -> None:
        """The most that the process has held, in kilobytes, beyond what it held before it read anything."""
        grown = _peak() - before
        struct.pack_into("<Q", self.memory, 24, max(grown, self.grown))

    @property
    def grown(self) -> int:
        return int(struct.unpack_from("<Q", self.memory, 24)[0])


def run(reader: Reader, files: int, seed: int, out: Path, seconds: float = float("inf")) -> Outcome:
    """Give a reader so many files, in a process of its own that may be ended at any of them and goes on after it."""
    begun, start, findings, tally = time.monotonic(), 0, list[Finding](), _Tally()
    shelf = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=shelf) as folder:
        path = Path(folder, f"file{reader.suffix}")
        while start < files and len(findings) < MOST_FINDINGS:
            pid = os.fork()
            if pid == 0:
                _work(reader, range(start, files), seed, path, tally, begun + seconds)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            index, *_ = tally.get()
            if code == 0:
                break
            named = {-signal.SIGPROF: "hangs", -signal.SIGALRM: "waits for ever", 1: ""}.get(
                code, f"ends the process ({code})"
            )
            reason = Path(folder, "reason").read_text() if code == 1 else named
            out.mkdir(parents=True, exist_ok=True)
            kept = out / f"{reader.name}-{seed}-{index}{reader.suffix}"
            shutil.copyfile(path, kept)
            findings.append(Finding(index, reason, kept))
            start = index + 1
    _, read, refused = tally.get()
    return Outcome(
        reader.name,
        read + refused + len(findings),
        read,
        refused,
        findings,
        time.monotonic() - begun,
        tally.grown / 1024,
    )


def _peak() -> int:
    """The most resident memory so far, in kilobytes."""
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
        if found:
            return int(found[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _work(reader: Reader, indices: range, seed: int, path: Path, tally: _Tally, deadline: float) -> None:
    """Open file after file, and never return: exit code 0 at the end, 1 after a finding, a signal if time is up."""
    code = 1
    try:
        _stock(reader.name)  # imports what it needs before memory is limited
        _, read, refused = tally.get()
        with suppress(OSError):  # forget what making the hostile files took
            Path("/proc/self/clear_refs").write_text("5")
        before = _peak()
        with open("/proc/self/statm") as sizes:
            used = int(sizes.read().split()[0]) * mmap.PAGESIZE
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.disable()
        for one in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(one, signal.SIG_DFL)
        for index in indices:
            tally.put(index, read, refused)
            if time.monotonic() > deadline:
                break
            path.write_bytes(mutant(reader, seed, index))
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
            signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
            was_read = attempt(reader, path, index)
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            read, refused = read + was_read, refused + (not was_read)
            tally.put(index, read, refused)
            if index < 100 or index % 64 == 0:
                tally.note_memory(before)
        code = 0
    except BaseException:  # whatever it is, the process that watches reports it
        path.with_name("reason").write_text(traceback.format_exc())
    finally:
        os._exit(code)


# -- the engine that is guided by coverage ---------------------------------------------------------------------------------
def run_atheris(reader: Reader, seconds: int, seed: int, out: Path) -> tuple[int, bool, str]:
    """Files tried, whether all went well, and what atheris said last; in a process of its own, which it takes over."""
    if not has_atheris():
        raise SystemExit("the engine atheris is not installed: pip install atheris, or use --engine random")
    out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "attacks.fuzz", "--engine", "guided", "--reader", reader.name]
    command += ["--seconds", str(seconds), "--seed", str(seed), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    found = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    return int(found[1]) if found else 0, done.returncode == 0, done.stderr[-2000:]


def has_atheris() -> bool:
    from importlib.util import find_spec

    return find_spec("atheris") is not None


def _guided(reader: Reader, seconds: int, seed: int, out: Path) -> None:
    """Hand this process over to atheris; the corpus begins with the sound files and is thrown away."""
    import atheris

    with atheris.instrument_imports(include=["sfumato.files", "sfumato.release", "sfumato.release.ledger", "rdata"]):
        hostile, seeds = _stock(reader.name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"file{reader.suffix}")
            path.write_bytes(seeds[0])
            attempt(reader, path, 0)
    folder = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    corpus, path = Path(folder, "corpus"), Path(folder, f"file{reader.suffix}")
    corpus.mkdir()
    for i, content in enumerate([*seeds, *(bad for bad in hostile if len(bad) < 10_000)]):
        Path(corpus, str(i)).write_bytes(content)

    def one(content: bytes) -> None:
        path.write_bytes(content)
        attempt(reader, path, len(content))

    def change(content: bytes, most: int, number: int) -> bytes:
        chance = random.Random(number)
        if chance.random() < 0.5:
            return bytes(atheris.Mutate(content, most))
        return _struck(reader, content, chance, _blows(reader, chance, seeds))[:most]

    options = [f"-max_total_time={seconds}", f"-timeout={CPU_SECONDS * 4}", "-rss_limit_mb=3000", f"-seed={seed + 1}"]
    options += ["-max_len=65536", "-print_final_stats=1", f"-artifact_prefix={out}/{reader.name}-"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one, custom_mutator=change)
    try:
        atheris.Fuzz()
    finally:
        shutil.rmtree(folder)


# -- the section of the audit, and the command -----------------------------------------------------------------------------
def randomly(reader: Reader, files: int, settings: Settings) -> Found:
    outcome = run(reader, files, settings.seed, settings.out / "fuzz")
    return Found(not outcome.findings, _words(outcome))


def guided(reader: Reader, settings: Settings) -> Found:
    """Half a minute of atheris, where it is installed."""
    if not has_atheris():
        return Found(None, "atheris is not installed: pip install atheris")
    tried, well, last = run_atheris(reader, 30, settings.seed, settings.out / "fuzz")
    return Found(well and tried > 0, f"{tried} files in 30 seconds" if well else last.strip().splitlines()[-1])


def cases(settings: Settings) -> list[Case]:
    """15,000 files for each reader, and atheris; with ``quick`` a thousand and none."""
    files = 1000 if settings.quick else 15_000
    found = [Case(reader.name, partial(randomly, reader, files, settings)) for reader in READERS.values()]
    careless = replace(READERS["tps"], open=broken.read_carelessly)
    found.append(Case("a careless reader", partial(randomly, careless, 40, settings), True))
    if not settings.quick:
        found += [Case(f"{reader.name}, guided", partial(guided, reader, settings)) for reader in READERS.values()]
    return found


def _words(outcome: Outcome) -> str:
    findings = "; ".join(f"{f.file.name}: {f.what.strip().splitlines()[-1]}" for f in outcome.findings)
    return f"{outcome}. {findings}" if findings else str(outcome)


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m attacks.fuzz", description="Hostile files against every reader.")
    parser.add_argument("--engine", choices=("random", "atheris", "guided"), default="random", help="default: random")
    parser.add_argument(
        "--reader", default=",".join(READERS), help=f"which, by commas (default: all: {', '.join(READERS)})"
    )
    parser.add_argument("--files", type=int, default=100_000, help="files for each reader (random; default: 100000)")
    parser.add_argument("--seconds", type=int, help="time for each reader (default: none for random, 60 for atheris)")
    parser.add_argument("--seed", type=int, default=0, help="file i of a seed is always the same (default: 0)")
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"), help="where offending files go")
    options = parser.parse_args(None if arguments is None else list(arguments))
    unknown = set(options.reader.split(",")) - set(READERS)
    if unknown:
        parser.error(f"unknown readers {', '.join(sorted(unknown))}; known: {', '.join(READERS)}")
    failed = False
    for reader in (READERS[name] for name in options.reader.split(",")):
        if options.engine == "guided":
            _guided(reader, options.seconds or 60, options.seed, options.out)
        elif options.engine == "atheris":
            tried, well, last = run_atheris(reader, options.seconds or 60, options.seed, options.out)
            print(f"{reader.name:14s}{tried} files: {'no findings' if well else last}", flush=True)
            failed |= not well
        else:
            outcome = run(reader, options.files, options.seed, options.out, options.seconds or float("inf"))
            print(f"{reader.name:14s}{outcome}", flush=True)
            for finding in outcome.findings:
                print(f"    {finding.file}: {finding.what}", flush=True)
            failed |= bool(outcome.findings)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
