"""Where a job's rows come from. Everything streams: no more than one record is in memory."""

from __future__ import annotations

import os
import random
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import Literal, TypeAlias, cast

from vedette.errors import InputError
from vedette.pictures.fetch import Fetch
from vedette.pictures.ocr import Ocr, check_ocr, ocr_identity
from vedette.types import Item, Json

from .inputs import Format, InputFile, resolve, unreadable
from .read_csv import check_csv_header, read_csv
from .read_jsonl import read_jsonl
from .read_lines import FirstLine, LineStream, read_blocks, read_lines, read_records
from .read_parquet import check_parquet, read_parquet
from .read_pictures import PictureRow, in_field, read_rows, shown_rows
from .rows import Fields, Row

Records: TypeAlias = Literal["line", "blank", "regex"]

COUNTED_BYTES = 64 * 1024 * 1024  # larger inputs are not read twice for a progress bar's sake


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Which rows a job is about.

    `paths` are files, globs, or `-` for stdin. `format` auto goes by the suffix (.jsonl, .ndjson,
    .csv, .tsv, .parquet, .pq; anything else is plain lines; `.gz` may follow); stdin counts as
    JSONL when its first line is a JSON object, else as plain lines.

    `records` says what a row of plain text is: each line, blocks between blank lines, or blocks
    that start where `pattern` (a regular expression) is found in a line.

    `text_field` (default `text`) and `id_field` (default: `id` where a row has one) name fields
    of structured rows; `columns` further ones that the task reads. The task sees no others, and
    two rows are the same when their text and these columns are. With `whole_rows` it sees all
    fields, and `columns` are those that headers must name; without `needs_text` a structured row
    has no text; without `needs_columns` a row of JSONL need have only one of them.

    A given id is passed through as it is, even when two rows share it; a row without one goes by
    its 1-based number over all the files. `limit` takes the first rows, `sample` that many at
    random (the same ones for the same `seed`, in input order), which reads the input twice.

    A file that is a picture is one row, its id the path; of structured rows `picture_field` names
    the field that says where the picture is: a path, a data URL, or a URL if `fetch_pictures`
    allows that. The text is read off the picture by OCR, or the picture itself is shown to the
    model by the projector of this hash (`shown_by`).
    """

    paths: tuple[str, ...]
    format: Format = "auto"
    records: Records = "line"
    pattern: str | None = None
    text_field: str | None = None
    id_field: str | None = None
    columns: tuple[str, ...] = ()
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    whole_rows: bool = False
    needs_text: bool = True
    needs_columns: bool = True
    picture_field: str | None = None
    fetch_pictures: bool = False
    shown_by: str | None = None

    @property
    def fields(self) -> Fields:
        """The fields of structured rows, defaults filled in."""
        needs_text = self.needs_text and self.picture_field is None
        text = (self.text_field or "text") if needs_text else None
        picture = () if self.picture_field is None else (self.picture_field,)
        return Fields(
            text=text,
            id=self.id_field,
            columns=tuple(dict.fromkeys((*self.columns, *picture))),
            whole=self.whole_rows,
            lenient=not self.needs_columns,
        )

    @property
    def _names_fields(self) -> bool:
        return bool(self.text_field or self.id_field or self.picture_field or self.columns)

    @property
    def reading(self) -> dict[str, Json] | None:
        """What the texts depend on if they are read off pictures, else None.

        Raises as `check` does.
        """
        if not self.has_pictures:
            return None
        return {"projector": self.shown_by} if self.shown_by is not None else ocr_identity()

    @property
    def has_pictures(self) -> bool:
        """Whether there are pictures among the rows. Raises as `check` does."""
        return self._has_pictures(resolve(self.paths, self.format))

    def _has_pictures(self, files: tuple[InputFile, ...]) -> bool:
        return self.picture_field is not None or any(file.format == "pictures" for file in files)

    def check(self) -> tuple[InputFile, ...]:
        """The files, after everything that can be known before the first row has been checked.

        Raises `FileError` for a file that is missing, unreadable or lacks a column, `InputError`
        for options that are wrong or that nothing in the input could use, `CapabilityMissing` for
        pictures where they cannot be read.
        """
        files = resolve(self.paths, self.format)
        self._check_options(files)
        if self._has_pictures(files) and self.shown_by is None:
            check_ocr()
        for file in files:
            if file.format == "parquet":
                check_parquet(file.path, self.fields)
            elif file.format == "csv" and file.is_regular:
                with file.open() as stream:
                    check_csv_header(stream, file.name, self.fields, file.delimiter)
        return files

    def rows(self, *, known: Callable[[Item], bool] | None = None) -> Iterator[Row]:
        """The rows in order; bad ones are among them. Raises what `check` raises.

        Pictures are read when their row's turn comes. One that is `known` is given without its
        text: the caller has the answer already.
        """
        files = self.check()
        if self.sample is not None:
            chosen = self._sampled(files, self.sample)
        else:
            chosen = islice(self._all(files), self.limit)
        if not self._has_pictures(files):
            return cast("Iterator[Row]", chosen)  # none of them is a `PictureRow`
        fetch = Fetch() if self.fetch_pictures else None
        if self.shown_by is not None:
            return shown_rows(chosen, fetch=fetch)
        return read_rows(chosen, Ocr(), fetch=fetch, known=known)

    def total(self) -> int | None:
        """How many rows there are, or None when counting would cost too much or is impossible."""
        files = self.check()
        if not all(file.is_regular and not file.path.endswith(".gz") for file in files):
            return None
        texts = (file for file in files if file.format != "pictures")
        if sum(os.path.getsize(file.path) for file in texts) > COUNTED_BYTES:
            return None
        total = sum(1 for _ in islice(self._all(files), self.limit))
        return total if self.sample is None else min(total, self.sample)

    def _check_options(self, files: tuple[InputFile, ...]) -> None:
        formats = {file.format for file in files}
        plain = formats == {"lines"} or (self.records != "line" and formats <= {"lines", "auto"})
        if self.records != "line" and not formats & {"lines", "auto"}:
            raise InputError(f"--records {self.records} is for plain text, and no input is that")
        if (plain or formats <= {"pictures", "lines"}) and self._names_fields:
            given = (self.text_field, self.id_field, self.picture_field, *self.columns)
            what = "plain text" if plain else "files"
            raise InputError(
                f"the field {next(filter(None, given))!r} is asked for, but the input is {what} "
                "without fields",
                hint="give the format: jsonl, csv or parquet",
            )
        if self.picture_field is not None and self.text_field is not None:
            raise InputError(
                "--text-field and --picture-field exclude each other: the text is the picture's"
            )
        if self.fetch_pictures and self.picture_field is None:
            raise InputError(
                "--fetch-pictures is about URLs in rows", hint="name their field: --picture-field"
            )
        if (self.pattern is None) == (self.records == "regex"):
            raise InputError("--records regex and --pattern go together: give both or neither")
        if self.pattern is not None:
            try:
                re.compile(self.pattern)
            except re.error as error:
                message = f"the pattern {self.pattern!r} is no regular expression: {error}"
                raise InputError(message) from error
        self._check_amounts(files)

    def _check_amounts(self, files: tuple[InputFile, ...]) -> None:
        for name, value in (("--limit", self.limit), ("--sample", self.sample)):
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}; it must be at least 1")
        if self.limit is not None and self.sample is not None:
            raise InputError("--limit and --sample exclude each other", hint="give one of them")
        if self.sample is not None:
            for file in files:
                if not file.is_regular:
                    raise InputError(
                        f"--sample reads the input twice, which {file.name} does not allow",
                        hint="save it to a file first, or use --limit",
                    )

    def _sampled(self, files: tuple[InputFile, ...], size: int) -> Iterator[Row | PictureRow]:
        total = sum(1 for _ in self._all(files))
        chosen = random.Random(self.seed).sample(range(total), min(size, total))
        wanted = set(chosen)
        last = max(wanted, default=-1)
        rows = islice(self._all(files), last + 1)
        return (row for index, row in enumerate(rows) if index in wanted)

    def _all(self, files: tuple[InputFile, ...]) -> Iterator[Row | PictureRow]:
        """Every row; pictures not loaded yet, so that rows can be counted and passed over."""
        numbers = count(1)
        return chain.from_iterable(self._of(file, numbers) for file in files)

    def _of(self, file: InputFile, numbers: Iterator[int]) -> Iterator[Row | PictureRow]:
        if file.format == "pictures":
            next(numbers)
            # A name that is not UTF-8 can be opened, but not be written into a result line.
            name = os.fsencode(file.path).decode("utf-8", "replace")
            return iter((PictureRow(id=name, place=file.path),))
        rows = self._read(file, numbers)
        if self.picture_field is None:
            return rows
        return in_field(rows, self.picture_field, keep=self.picture_field in self.columns)

    def _read(self, file: InputFile, numbers: Iterator[int]) -> Iterator[Row]:
        try:
            if file.format == "parquet":
                yield from read_parquet(file.path, numbers, self.fields)
                return
            with file.open() as stream:
                yield from self._read_stream(stream, file, numbers)
        except (OSError, EOFError, zlib.error) as error:
            reason = error if isinstance(error, OSError | EOFError) else OSError(str(error))
            raise unreadable(file.name, reason) from error

    def _read_stream(
        self, stream: LineStream, file: InputFile, numbers: Iterator[int]
    ) -> Iterator[Row]:
        chosen = file.format
        if chosen == "auto":
            stream = FirstLine(stream)
            structured = self._names_fields or (self.records == "line" and stream.is_json_object)
            chosen = "jsonl" if structured else "lines"
        if chosen == "jsonl":
            return read_jsonl(stream, file.name, numbers, self.fields)
        if chosen == "csv":
            return read_csv(stream, file.name, numbers, self.fields, file.delimiter)
        if self.records == "blank":
            return read_blocks(stream, file.name, numbers)
        if self.records == "regex":
            return read_records(stream, file.name, numbers, re.compile(self.pattern or ""))
        return read_lines(stream, file.name, numbers)
