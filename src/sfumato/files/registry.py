"""Telling formats apart: by the first bytes, else by the first words, else by the name."""

from pathlib import Path
from pkgutil import resolve_name

from .base import Contents, FileError, Format

READERS = (  # a line for each format; those of text in the order in which they are asked
    "npy:NPY",
    "npy:NPZ",
    "parquet:PARQUET",
    "matlab:MATLAB",
    "matlab:MATLAB_73",
    "r:R",
    "tps:TPS",
    "morphologika:MORPHOLOGIKA",
    "slicer:MARKUPS",
    "json_text:JSON",
    "slicer:FCSV",
    "nts:NTS",
    "chains:CHAINS",
    "csv_text:TSV",
    "csv_text:CSV",  # takes whatever is left
)
FORMATS: tuple[Format, ...] = tuple(resolve_name(f"{__package__}.{name}") for name in READERS)
_PICTURE = "a picture, not records; give the landmarks that were found on it"
_OTHERS = {
    b"\x89HDF": "an HDF5 file that MATLAB did not write; save the array as .npy",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet or document, which is not read; save the sheet as CSV and give that",
    b"%PDF": "a PDF, which holds no records to read; give the table as CSV",
    **dict.fromkeys([b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\x00", b"MM\x00*"], _PICTURE),
}


def parse(path: Path) -> tuple[Format, Contents]:
    """Return the format of a file, and what it holds."""
    if path.exists() and not path.is_file():
        raise FileError("not a regular file; give a file of records, or a folder of such files")
    content = path.read_bytes()
    format = recognise(content, path.suffix.lower())
    if format.looks is None:
        return format, format.read(content)
    return format, format.read(decode(content).rstrip(" \t\x1a"))  # DOS ended files with Ctrl-Z


def recognise(content: bytes, suffix: str) -> Format:
    """Return the format of a file, from its content and, where that leaves a choice, the ending of its name."""
    for format in FORMATS:
        if format.magic and content.startswith(format.magic):
            return format
    if not content.strip():
        raise FileError("the file is empty")
    for magic, what in _OTHERS.items():
        if content.startswith(magic):
            raise FileError(what)
    words = decode(content[: 1 << 16])
    return next(f for f in FORMATS if f.looks is not None and (f.looks(words) or suffix in f.suffixes))


def decode(content: bytes) -> str:
    """Return text in UTF-8, in UTF-16 with a mark, or else in the code page of Western Windows, where IDs have accents."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content[: len(content) // 2 * 2].decode("utf-16", errors="replace")
    if b"\x00" in content or content[:1] in (b"\x93", b"\x89"):
        known = ", ".join(format.name for format in FORMATS)
        raise FileError(f"not a file that sfumato reads, or its beginning is damaged; sfumato reads {known}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")
