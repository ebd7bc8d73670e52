"""Options of the verbs that read labelled rows: which rows, and which model answers them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cyclopts import Parameter

from vedette.cli.job import open_backend
from vedette.config import Settings, load
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.backends.base import Backend
    from vedette.batch.source import Source
    from vedette.types import Item


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LabelledRows:
    """Labelled rows, and the model that answers them."""

    text_field: str | None = None
    "Field that holds the text (text)."
    instructions: str = ""
    "A sentence more for the model."
    limit: int | None = None
    "Only N rows, chosen at random and always the same."
    seed: int = 0
    "Of the choice and of the order in which rows are asked."
    model: str | None = None
    "Name, hf:user/repo:QUANT or path of the weights."
    backend: str | None = None
    "Who answers: local, llama-server:URL, llama-server:[PROGRAM@]MODEL, openai:URL#MODEL."
    lora: tuple[str, ...] = ()
    "A LoRA adapter for all rows: NAME=PATH or NAME=PATH:SCALE; may be given again."
    width: int | None = None
    "Most sequences in one batch."
    threads: int | None = None
    "CPU threads."
    no_tune: bool = False
    "Use the weights as downloaded, also where `vedette tune` made a faster copy of them."
    offline: bool | None = None
    "Never use the network."
    json: bool = False
    "One JSON object, for machines."
    quiet: bool = False
    "No progress."

    def settings(self) -> Settings:
        """The settings under these options."""
        return load(
            model=self.model,
            backend=self.backend,
            lora=",".join(self.lora) if self.lora else None,
            width=self.width,
            threads=self.threads,
            tuned=False if self.no_tune else None,
            offline=self.offline,
        )

    def opened(self) -> closing[Backend]:
        """Who answers, for a `with`."""
        return closing(open_backend(self.settings(), quiet=self.quiet))

    def source(self, data: str, columns: tuple[str, ...], *, needs_columns: bool = True) -> Source:
        """Where the rows come from."""
        from vedette.batch.source import Source

        return Source(
            paths=(data,),
            text_field=self.text_field,
            columns=columns,
            needs_columns=needs_columns,
        )

    def chosen(self, source: Source) -> list[Item]:
        """The rows in a random order, `limit` of them."""
        from vedette.evaluate.rows import labelled_rows, shuffled

        if self.limit is not None and self.limit < 1:
            raise InputError(f"--limit is {self.limit}; it must be at least 1")
        return shuffled(labelled_rows(source), self.seed)[: self.limit]
