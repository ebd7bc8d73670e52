"""Input files: from paths, globs and `-` to files that are known to be there and readable."""

from __future__ import annotations

import glob
import gzip
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO, Literal, TypeAlias, cast

from vedette.errors import FileError, InputError
from vedette.pictures.formats import SNIFFED_BYTES, format_of
from vedette.pictures.formats import SUFFIXES as PICTURE_SUFFIXES

Format: TypeAlias = Literal["auto", "jsonl", "csv", "lines", "parquet", "pictures"]

STDIN = "-"
SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
# How files begin that hold no plain text, and what to do about each.
NOT_TEXT = {
    b"\xff\xfe": ("UTF-16 text", "convert it to UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "convert it to UTF-8"),
    b"PAR1": ("a Parquet file", "give its format: parquet"),
    b"\x1f\x8b": ("a gzip file", "end its name in .gz"),
    b"PK\x03\x04": ("a zip archive or an office document", "export it as CSV or JSONL"),
    b"%PDF": ("a PDF", "extract its text first"),
    b"GGUF": ("a model file", "name the input, not the model"),
}


@dataclass(frozen=True, slots=True)
class InputFile:
    """One input, its format decided; `auto` stays only for stdin, whose first line decides."""

    path: str
    format: Format

    @property
    def name(self) -> str:
        """What error messages call it."""
        return "stdin" if self.path == STDIN else self.path

    @property
    def delimiter(self) -> str:
        """Of its CSV columns."""
        return "\t" if PurePath(self.path.removesuffix(".gz")).suffix.lower() == ".tsv" else ","

    @property
    def is_regular(self) -> bool:
        """Whether it can be read twice, which stdin and pipes cannot."""
        return self.path != STDIN and stat.S_ISREG(os.stat(self.path).st_mode)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in it; stdin and pipes are not looked into. Raises `FileError`."""
        if not self.is_regular:
            return False
        with self.open() as stream:
            return not stream.read(1)

    def open(self) -> BinaryIO:
        """The bytes, decompressed when the name ends in `.gz`. Raises `FileError`."""
        try:
            if self.path == STDIN:
                # A reader of its own: the interpreter's may be held by a thread at shutdown.
                return open(sys.stdin.fileno(), "rb", closefd=False)
            if self.path.endswith(".gz"):
                return cast(BinaryIO, gzip.open(self.path, "rb"))
            return open(self.path, "rb")
        except OSError as error:
            raise unreadable(self.path, error) from error


def resolve(paths: tuple[str, ...], wanted: Format) -> tuple[InputFile, ...]:
    """The files that the paths stand for, in order; a glob's matches are sorted.

    A folder stands for the pictures in it, and must hold nothing else. Raises `FileError` for one
    that is missing, another folder, unreadable or plainly of another kind, and `InputError` when
    there is nothing to read or a format cannot be told.
    """
    if not paths:
        raise InputError("there is no input", hint="name files, or - for stdin")
    if paths.count(STDIN) > 1:
        raise InputError("stdin (-) can be read only once")
    found = [path for given in paths for path in _expand(given, wanted)]
    files = tuple(InputFile(path, _format(path, wanted)) for path in found)
    for file in files:
        _check_readable(file)
    return files


def unreadable(path: str, error: OSError | EOFError) -> FileError:
    """The error for a file that the system does not let us read."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return FileError(f"cannot read {path}: {reason}")


def _expand(path: str, wanted: Format) -> list[str]:
    if path != STDIN and wanted in ("auto", "pictures") and os.path.isdir(path):
        return _in_folder(path, wanted)
    if path == STDIN or os.path.lexists(path) or not glob.has_magic(path):
        return [path]
    matches = sorted(match for match in glob.glob(path, recursive=True) if not os.path.isdir(match))
    if not matches:
        raise FileError(f"no file matches {path}")
    return matches


def _in_folder(folder: str, wanted: Format) -> list[str]:
    """The files of a folder of pictures, sorted; hidden ones and its folders are left out."""
    try:
        with os.scandir(folder) as entries:
            files = sorted(e.path for e in entries if e.is_file() and not e.name.startswith("."))
    except OSError as error:
        raise unreadable(folder, error) from error
    others = [] if wanted == "pictures" else [path for path in files if not _is_picture(path)]
    if len(others) == len(files):
        raise FileError(f"{folder} is a folder", hint=f"name its files, as in '{folder}/*'")
    if others:
        shown = ", ".join(os.path.basename(path) for path in others[:3])
        raise FileError(
            f"{folder} holds other files beside pictures ({shown}{', ...' if others[3:] else ''})",
            hint="say --format pictures to have each file read as one, or name the files",
        )
    return files


def _is_picture(path: str) -> bool:
    """By its name, so that a broken one is told of, or by how it begins."""
    if PurePath(path).suffix.lower() in PICTURE_SUFFIXES:
        return True
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return format_of(file.read(SNIFFED_BYTES)) is not None
    except OSError:
        return False  # told of when it is read


def _format(path: str, wanted: Format) -> Format:
    if path == STDIN:
        if wanted in ("parquet", "pictures"):
            what = "Parquet" if wanted == "parquet" else "a picture"
            raise InputError(f"{what} cannot be read from stdin", hint="give the file's path")
        return wanted
    if wanted != "auto":
        return wanted
    suffix = PurePath(path.removesuffix(".gz")).suffix.lower()
    if suffix == ".json":
        raise InputError(
            f"{path}: a .json file can be one document or many rows",
            hint="for one object per line say --format jsonl, else convert it",
        )
    if suffix not in SUFFIXES and _is_picture(path):
        return "pictures"
    return SUFFIXES.get(suffix, "lines")


def _check_readable(file: InputFile) -> None:
    if file.path == STDIN:
        if sys.stdin is None or sys.stdin.closed:
            raise FileError("stdin is closed", hint="name a file instead of -")
        return
    if os.path.isdir(file.path):
        raise FileError(f"{file.path} is a folder", hint=f"name its files, as in '{file.path}/*'")
    try:
        if not file.is_regular:
            if not os.access(file.path, os.R_OK):
                raise PermissionError(13, "Permission denied")
            return
        with file.open() as stream:
            start = stream.read(4)
    except (OSError, EOFError) as error:
        raise unreadable(file.path, error) from error
    if file.format in ("parquet", "pictures"):
        return
    for magic, (kind, hint) in NOT_TEXT.items():
        if start.startswith(magic):
            raise FileError(f"{file.path} is {kind}, not rows of text", hint=hint)
