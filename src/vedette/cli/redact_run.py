"""A redaction of files, of texts or of rows. The vault is written before the result is."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import orjson

from vedette.backends.base import Backend
from vedette.batch.answers import answers
from vedette.batch.inputs import Format, InputFile, resolve
from vedette.batch.results import Outcome, body_of, line_of
from vedette.batch.rows import MAX_RECORD_BYTES, BadRow, Row
from vedette.batch.source import Source
from vedette.cli.console import note
from vedette.errors import FileError, InputError, InputTooLong, VedetteError
from vedette.redaction.files import STDOUT, Sink, text_pieces
from vedette.redaction.names import name_spans
from vedette.redaction.placeholders import Entity, Placeholders
from vedette.redaction.redactor import Redactor
from vedette.redaction.span import Span
from vedette.redaction.stream import Piece, redact_pieces
from vedette.redaction.vault import Vault
from vedette.tasks.base import Task
from vedette.types import Answer, Item, Json

ROW_FORMATS = ("jsonl", "csv", "parquet", "lines")
FLUSHED_CHARS = 1 << 18  # rows are written in blocks: the vault is saved before each of them


@dataclass(frozen=True)
class ModelOptions:
    """Which model finds names, and how it is run."""

    model: str | None = None
    width: int | None = None
    threads: int | None = None
    offline: bool | None = None


@dataclass
class Run:
    """One run of `vedette redact`, and what it counted."""

    paths: tuple[str, ...]
    out: str
    format: Literal["auto", "text", "jsonl", "csv", "parquet", "lines"]
    redactor: Redactor
    finder: Task | None
    model: ModelOptions
    vault: Vault | None = None
    report: str | None = None
    report_values: bool = False
    text_field: str | None = None
    id_field: str | None = None
    limit: int | None = None
    found: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    errors: int = 0

    def run(self, *, as_json: bool, quiet: bool) -> int:
        """Do it; returns the exit code. Nothing that was not checked is written.

        Raises `FileError` or `InputError`, and what the model raises about a text; an output file
        is then as it was before.
        """
        files = resolve(self.paths, self._row_format)
        is_rows = [self._is_rows(file) for file in files]
        if any(is_rows) and not all(is_rows):
            raise InputError("texts and rows cannot be mixed in one run", hint="run it twice")
        if not is_rows[0] and (self.text_field or self.id_field or self.limit):
            raise InputError("--text-field, --id-field and --limit are for rows, not for texts")
        targets = [self.out] if is_rows[0] else self._targets(files)
        self._check_targets(files, targets)
        with ExitStack() as stack:
            backend = self._backend(stack, quiet=quiet) if self.finder else None
            report = stack.enter_context(Sink(self.report)) if self.report else None
            sinks = [stack.enter_context(Sink(path, self._save)) for path in dict.fromkeys(targets)]
            if is_rows[0]:
                self._write_rows(sinks[0], report, backend)
            else:
                of_path = {sink.path: sink for sink in sinks}
                for file, target in zip(files, targets, strict=True):
                    self._write_text(file, of_path[target], report, backend)
            for sink in (*([report] if report else ()), *sinks):
                sink.finish()
        self._tell(as_json=as_json, quiet=quiet, is_rows=is_rows[0])
        return 1 if self.errors else 0

    @cached_property
    def _placeholders(self) -> Placeholders:
        return Placeholders() if self.vault is None else self.vault.placeholders

    @property
    def _row_format(self) -> Format:
        return "auto" if self.format == "text" else self.format

    def _save(self) -> None:
        if self.vault is not None:
            self.vault.save()

    def _is_rows(self, file: InputFile) -> bool:
        if self.format == "auto":
            return file.format in ("jsonl", "csv", "parquet")
        return self.format in ROW_FORMATS

    def _targets(self, files: tuple[InputFile, ...]) -> list[str]:
        """Where each text goes. Raises `InputError` for two texts in one place."""
        is_folder = os.path.isdir(self.out) or self.out.endswith("/")
        if len(files) == 1 and not is_folder:
            return [self.out]
        if not is_folder:
            raise InputError("several texts need a folder", hint="name it: --out FOLDER/")
        names = [os.path.basename(file.path).removesuffix(".gz") for file in files]
        if STDOUT in names:
            raise InputError("stdin has no name for a file in a folder", hint="name a file: --out")
        targets = [os.path.join(self.out, name) for name in names]
        twice = next((path for path, n in Counter(targets).items() if n > 1), None)
        if twice:
            raise InputError(f"two texts would both become {twice}", hint="run it twice")
        return targets

    def _check_targets(self, files: tuple[InputFile, ...], targets: list[str]) -> None:
        written = [*targets, *([self.report] if self.report else ())]
        if self.vault is not None:
            written.append(str(self.vault.path))
        read = [os.path.realpath(file.path) for file in files if file.path != STDOUT]
        real = [os.path.realpath(path) for path in written if path != STDOUT]
        clash = next((path for path in real if path in read or real.count(path) > 1), None)
        if clash:
            raise FileError(f"{clash} is named twice", hint="choose another --out")

    def _backend(self, stack: ExitStack, *, quiet: bool) -> Backend:
        from vedette.cli.job import open_backend
        from vedette.config import load

        options = self.model
        settings = load(
            model=options.model,
            width=options.width,
            threads=options.threads,
            offline=options.offline,
        )
        backend = open_backend(settings, quiet=quiet)
        stack.callback(backend.close)
        return backend

    def _write_text(
        self, file: InputFile, sink: Sink, report: Sink | None, backend: Backend | None
    ) -> None:
        with file.open() as stream:
            texts = text_pieces(stream, file.name)
            pieces = (
                redact_pieces(texts, self.redactor, self._placeholders)
                if backend is None
                else self._named_pieces(texts, file.name, backend)
            )
            for piece in pieces:
                sink.put(piece.text)
                self._count(piece.entities, report, {"file": file.name})
        self.rows += 1

    def _named_pieces(self, texts: Iterator[str], name: str, backend: Backend) -> Iterator[Piece]:
        """A text that the model reads is held whole: a name found late is replaced everywhere."""
        parts, size = [], 0
        for text in texts:
            parts.append(text)
            size += len(text)
            if size > MAX_RECORD_BYTES:
                raise InputTooLong(
                    f"{name} is longer than {MAX_RECORD_BYTES:,} characters, the most that the "
                    "model is given",
                    hint="split it, or use rules only",
                )
        item = Item(id=name, text="".join(parts))
        ((_, outcome),) = answers([item], self._task, backend)
        if isinstance(outcome, VedetteError):
            raise outcome
        yield Piece(*self._placeholders.replace(item.text, self._spans(item, outcome)))

    def _write_rows(self, sink: Sink, report: Sink | None, backend: Backend | None) -> None:
        source = Source(
            paths=self.paths,
            format=self._row_format,
            text_field=self.text_field,
            id_field=self.id_field,
            limit=self.limit,
        )
        rows = source.rows()
        waiting: list[bytes] = []
        size = 0
        for row, outcome in self._outcomes(rows, backend):
            waiting.append(self._row_line(row, outcome, report))
            size += len(waiting[-1])
            if size > FLUSHED_CHARS:
                sink.put(b"".join(waiting).decode("utf-8"))
                waiting, size = [], 0
        sink.put(b"".join(waiting).decode("utf-8"))

    def _outcomes(
        self, rows: Iterator[Row], backend: Backend | None
    ) -> Iterator[tuple[Row, Outcome | None]]:
        """Each row, in order, with what the model says of it (None without a model)."""
        if backend is None:
            yield from ((row, row.error if isinstance(row, BadRow) else None) for row in rows)
            return
        pending: deque[Row] = deque()

        def items() -> Iterator[Item]:
            for row in rows:
                pending.append(row)
                if isinstance(row, Item):
                    yield row

        def bad() -> Iterator[tuple[Row, Outcome | None]]:
            while pending and isinstance(pending[0], BadRow):
                row = pending.popleft()
                yield row, row.error if isinstance(row, BadRow) else None

        for _, outcome in answers(items(), self._task, backend):
            yield from bad()
            yield pending.popleft(), outcome
        yield from bad()

    def _row_line(self, row: Row, outcome: Outcome | None, report: Sink | None) -> bytes:
        """The result line; an error row has nothing of the text."""
        self.rows += 1
        try:
            if isinstance(outcome, VedetteError):
                raise outcome
            if isinstance(row, BadRow):
                raise row.error
            text, entities = self._placeholders.replace(row.text, self._spans(row, outcome))
        except VedetteError as error:
            self.errors += 1
            return line_of(row.id, body_of(error))
        self._count(entities, report, {"id": row.id})
        listed: list[Json] = [_entity(entity) for entity in entities]
        usage = {"usage": outcome.usage} if outcome else {}
        return line_of(row.id, body_of(Answer(value=text, extra={"entities": listed}, **usage)))

    @property
    def _task(self) -> Task:
        if self.finder is None:
            raise TypeError("no names are asked for")
        return self.finder

    def _spans(self, item: Item, answer: Answer | None) -> list[Span]:
        from vedette.tasks.names import names_of

        named = name_spans(item.text, names_of(answer), rule="model") if answer else ()
        return self.redactor.find(item.text, named)

    def _count(self, entities: list[Entity], report: Sink | None, where: dict[str, Json]) -> None:
        self.found.update(entity.kind for entity in entities)
        if report is None:
            return
        for entity in entities:
            line = {**where, **_entity(entity)}
            if self.report_values:
                line["value"] = entity.value
            report.put(orjson.dumps(line).decode() + "\n")

    def _tell(self, *, as_json: bool, quiet: bool, is_rows: bool) -> None:
        counts = dict(self.found.most_common())
        what = "rows" if is_rows else "texts"
        if as_json:
            body = {what: self.rows, "errors": self.errors, "replaced": counts}
            note(orjson.dumps(body).decode())
            return
        listed = ", ".join(f"{n} {kind}" for kind, n in counts.items()) or "nothing"
        errors = f"; {self.errors} rows are errors" if self.errors else ""
        note(f"replaced in {self.rows} {what}: {listed}{errors}", quiet=quiet)


def _entity(entity: Entity) -> dict[str, Json]:
    """What is said of a value without the value itself."""
    return {
        "kind": entity.kind,
        "start": entity.start,
        "end": entity.end,
        "rule": entity.rule,
        "score": entity.score,
        "placeholder": entity.placeholder,
    }
