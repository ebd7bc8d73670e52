"""`vedette redact --restore`: the values back into texts and rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import orjson

from vedette.batch.inputs import resolve
from vedette.batch.read_lines import raw_lines
from vedette.cli.console import note
from vedette.errors import FileError, InputError
from vedette.redaction.files import Sink, text_pieces
from vedette.redaction.placeholders import restore, unknown_placeholders
from vedette.redaction.stream import restore_pieces

if TYPE_CHECKING:
    from vedette.redaction.vault import Vault
    from vedette.types import Json


def restore_all(paths: tuple[str, ...], out: str, format: str, vault: Vault, *, quiet: bool) -> int:
    """Restore one file; exit code 1 if it has placeholders that the vault does not know.

    In JSONL every string of every row is restored, so that the rows stay JSON.
    """
    if format not in ("auto", "text", "jsonl"):
        raise InputError(f"--restore reads texts and JSONL, not {format}")
    files = resolve(paths, "auto")
    if len(files) > 1:
        raise InputError("--restore takes one file at a time")
    is_jsonl = format == "jsonl" or (format == "auto" and files[0].format == "jsonl")
    lost: set[str] = set()
    mapping = vault.placeholders.mapping
    with files[0].open() as stream, Sink(out) as sink:
        if is_jsonl:
            texts = _rows(stream, files[0].name, mapping, lost)
        else:
            texts = restore_pieces(text_pieces(stream, files[0].name), mapping, lost)
        for text in texts:
            sink.put(text)
        sink.finish()
    if lost:
        note(f"{len(lost)} placeholders are not in the vault and stay: {min(lost)}, ...")
    elif not quiet:
        note("restored")
    return 1 if lost else 0


def _rows(stream: BinaryIO, name: str, mapping: dict[str, str], lost: set[str]) -> Iterator[str]:
    for number, line in raw_lines(stream):
        if line is not None and not line.strip():
            continue
        try:
            row = orjson.loads(line or b"")
        except orjson.JSONDecodeError as error:
            raise FileError(f"{name} line {number}: not valid JSON: {error.msg}") from error
        yield orjson.dumps(_restored(row, mapping, lost)).decode("utf-8") + "\n"


def _restored(value: Json, mapping: dict[str, str], lost: set[str]) -> Json:
    if isinstance(value, str):
        lost.update(unknown_placeholders(value, mapping))
        return restore(value, mapping)
    if isinstance(value, list):
        return [_restored(part, mapping, lost) for part in value]
    if isinstance(value, dict):
        return {name: _restored(part, mapping, lost) for name, part in value.items()}
    return value
