"""The header of a GGUF file, read with a bound on everything.

A damaged or hostile file gives `ModelCorrupt`, never a crash, a huge allocation or a long loop:
every count is checked against the bytes that the file has left before anything is read.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NoReturn, TypeAlias

from vedette.errors import FileError, ModelCorrupt
from vedette.models.ggml_types import GGML_TYPES, GgmlType

_MAX_TEXT_BYTES = 16 << 20  # a chat template is some kilobytes
_MAX_KEPT_VALUES = 4096  # per-layer lists are kept, token lists only counted
_BLOCK_BYTES = 1 << 20
_STRING, _ARRAY = 8, 9
_SCALARS = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
_U32, _U64 = _SCALARS[4], _SCALARS[10]
_MIN_ENTRY_BYTES = 8 + 4 + 1
_MIN_TENSOR_BYTES = 8 + 4 + 4 + 8

Scalar: TypeAlias = bool | int | float | str


@dataclass(frozen=True, slots=True)
class LongList:
    """A list that was counted and skipped: the vocabulary, its scores, its merges."""

    length: int


Value: TypeAlias = Scalar | tuple[Scalar, ...] | LongList


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor's entry; `offset_bytes` counts from the start of the data section."""

    name: str
    shape: tuple[int, ...]
    type: GgmlType
    offset_bytes: int
    n_values: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Header:
    """All that a GGUF says before its data; `kinds` are the numbers of its values' types."""

    version: int
    size_bytes: int
    metadata: dict[str, Value]
    tensors: tuple[Tensor, ...]
    kinds: Mapping[str, int] = field(default_factory=dict)


def corrupt(path: Path | str, reason: str) -> ModelCorrupt:
    """The error for a file that is not a sound GGUF."""
    return ModelCorrupt(f"{path} is not a sound GGUF file: {reason}", hint="fetch the file again")


def read_header(path: Path, *, keep: frozenset[str] = frozenset()) -> Header:
    """Read and check a header, and that the file holds all the data it announces.

    Long lists are only counted, but for those of the keys in `keep`.
    Raises `FileError` if the file cannot be read, `ModelCorrupt` for anything that is wrong in it.
    """
    try:
        with path.open("rb", buffering=_BLOCK_BYTES) as file:
            size_bytes = file.seek(0, 2)
            file.seek(0)
            return parse_header(path, file, size_bytes, keep=keep)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error


def parse_header(
    name: Path | str, file: BinaryIO, size_bytes: int, *, keep: frozenset[str] = frozenset()
) -> Header:
    """As `read_header`, from an open file at its start; `name` is what errors call it."""
    return _Reader(name, file, size_bytes, keep).header()


class _Reader:
    """A position in the file, and how much is left."""

    def __init__(
        self, path: Path | str, file: BinaryIO, size_bytes: int, keep: frozenset[str]
    ) -> None:
        self._keep = keep
        self._path = path
        self._file = file
        self._size_bytes = size_bytes
        self._position_bytes = 0

    def header(self) -> Header:
        self._magic()
        version = self._number(_U32)
        if version & 0xFFFF == 0:
            self._fail("it is big-endian, or its version is damaged")
        if version not in (2, 3):
            self._fail(f"its version is {version}; 2 and 3 are known")
        n_tensors = self._count(_MIN_TENSOR_BYTES, "tensors")
        n_entries = self._count(_MIN_ENTRY_BYTES, "metadata entries")
        metadata: dict[str, Value] = {}
        kinds: dict[str, int] = {}
        for _ in range(n_entries):
            key = self._text()
            if key in metadata:
                self._fail(f"the key {key[:60]!r} stands twice")
            kinds[key] = self._number(_U32)
            metadata[key] = self._value(kinds[key], key)
        tensors = tuple(self._tensor() for _ in range(n_tensors))
        self._check_data(metadata, tensors)
        return Header(version, self._size_bytes, metadata, tensors, kinds)

    def _fail(self, reason: str) -> NoReturn:
        raise corrupt(self._path, reason)

    def _magic(self) -> None:
        start = self._file.read(4)
        self._position_bytes = len(start)
        if start == b"vers":
            self._fail("it is a Git LFS pointer, not the file itself")
        if start != b"GGUF":
            self._fail(f"it starts with {start!r}, not with GGUF" if start else "it is empty")

    def _take(self, n_bytes: int) -> bytes:
        if n_bytes > self._size_bytes - self._position_bytes:
            self._fail(f"it is truncated: it ends within its header, at byte {self._size_bytes}")
        data = self._file.read(n_bytes)
        if len(data) != n_bytes:
            self._fail("it became shorter while it was read")
        self._position_bytes += n_bytes
        return data

    def _skip(self, n_bytes: int) -> None:
        if n_bytes > self._size_bytes - self._position_bytes:
            self._take(n_bytes)
        self._file.seek(n_bytes, 1)
        self._position_bytes += n_bytes

    def _number(self, form: struct.Struct) -> int:
        return int(form.unpack(self._take(form.size))[0])

    def _count(self, min_bytes_each: int, what: str) -> int:
        count = self._number(_U64)
        if count * min_bytes_each > self._size_bytes - self._position_bytes:
            self._fail(f"it announces {count} {what}, more than it has room for")
        return count

    def _text(self) -> str:
        n_bytes = self._count(1, "bytes of text")
        if n_bytes > _MAX_TEXT_BYTES:
            self._fail(f"a text of {n_bytes} bytes stands where a short one belongs")
        # Token pieces may be cut characters; a replacement sign does no harm in a report.
        return self._take(n_bytes).decode("utf-8", errors="replace")

    def _value(self, kind: int, key: str) -> Value:
        if kind == _ARRAY:
            return self._list(key)
        if kind == _STRING:
            return self._text()
        form = _SCALARS.get(kind)
        if form is None:
            self._fail(f"the value of {key[:60]!r} is of the unknown kind {kind}")
        scalar: Scalar = form.unpack(self._take(form.size))[0]
        return scalar

    def _list(self, key: str) -> Value:
        kind = self._number(_U32)
        if kind == _STRING:
            count = self._count(8, f"texts in {key[:60]!r}")
            if count > _MAX_KEPT_VALUES and key not in self._keep:
                self._skip_texts(count)
                return LongList(count)
            return tuple(self._text() for _ in range(count))
        form = _SCALARS.get(kind)
        if form is None:
            self._fail(f"the list {key[:60]!r} is of the unknown kind {kind}")
        count = self._count(form.size, f"values in {key[:60]!r}")
        if count > _MAX_KEPT_VALUES and key not in self._keep:
            self._skip(count * form.size)
            return LongList(count)
        return tuple(each for (each,) in form.iter_unpack(self._take(count * form.size)))

    def _skip_texts(self, count: int) -> None:
        """Step over many texts: reads in blocks, since there are hundreds of thousands."""
        data, at = b"", 0
        unpack = _U64.unpack_from
        for _ in range(count):
            if at + 8 > len(data):
                data, at = self._refill(data, at), 0
            at += 8 + unpack(data, at)[0]
            if at > len(data):
                beyond = at - len(data)
                self._skip(beyond)
                data, at = b"", 0
        # Give back what was read too far.
        self._file.seek(at - len(data), 1)
        self._position_bytes -= len(data) - at

    def _refill(self, data: bytes, at: int) -> bytes:
        rest = data[at:]
        left_bytes = self._size_bytes - self._position_bytes
        return rest + self._take(max(8 - len(rest), min(_BLOCK_BYTES, left_bytes)))

    def _tensor(self) -> Tensor:
        name = self._text()
        n_dims = self._number(_U32)
        if n_dims > 4:
            self._fail(f"the tensor {name[:60]!r} has {n_dims} dimensions")
        shape = tuple(self._number(_U64) for _ in range(n_dims))
        type_number = self._number(_U32)
        offset_bytes = self._number(_U64)
        kind = GGML_TYPES.get(type_number)
        if kind is None:
            self._fail(f"the tensor {name[:60]!r} is of the unknown type {type_number}")
        n_values = 1
        for length in shape:
            n_values *= length
        if n_values == 0 or n_values % kind.block_values or (shape or (1,))[0] % kind.block_values:
            self._fail(f"the tensor {name[:60]!r} has the shape {shape}, not whole blocks")
        return Tensor(name, shape, kind, offset_bytes, n_values, kind.bytes_for(n_values))

    def _check_data(self, metadata: dict[str, Value], tensors: tuple[Tensor, ...]) -> None:
        """The tensors lie one after another, aligned, and the file is long enough for them."""
        alignment = metadata.get("general.alignment", 32)
        if type(alignment) is not int or alignment <= 0 or alignment & (alignment - 1):
            self._fail(f"its alignment is {str(alignment)[:20]}, not a power of two")
        if len({tensor.name for tensor in tensors}) != len(tensors):
            self._fail("two of its tensors have the same name")
        end_bytes = 0
        for tensor in tensors:
            expected_bytes = -(-end_bytes // alignment) * alignment
            if tensor.offset_bytes != expected_bytes:
                self._fail(f"the tensor {tensor.name[:60]!r} is not where it belongs")
            end_bytes = expected_bytes + tensor.size_bytes
        data_bytes = -(-self._position_bytes // alignment) * alignment
        if tensors and data_bytes + end_bytes > self._size_bytes:
            self._fail(
                f"it is truncated: {data_bytes + end_bytes} bytes announced, "
                f"{self._size_bytes} there"
            )
