"""`vedette summarise`: long texts in few words."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from vedette.cli.console import note
from vedette.cli.job import (
    JobOptions,
    PathOrStdin,
    check_paths,
    open_backend,
    run_job,
    settings_of,
)
from vedette.cli.whole_files import as_texts, is_plain

if TYPE_CHECKING:
    from vedette.tasks.summarise.keeper import Keeper
    from vedette.tasks.summarise.task import Summarise
    from vedette.types import Item, Json


def summarise(
    *paths: PathOrStdin,
    words: int = 100,
    tokens: int | None = None,
    instructions: str = "",
    chunk_tokens: int | None = None,
    temperature: float = 0.2,
    seed: int = 0,
    options: JobOptions | None = None,
) -> int:
    """Put texts of any length into few words; what the text does not bear out is left out.

    Parameters
    ----------
    paths
        Files, globs, or - for stdin. One plain file is answered with its summary, sentence by
        sentence; anything else with a result line for each text.
    words
        Most words of a summary. A Chinese character counts as one.
    tokens
        Most tokens of a summary instead, by the model's tokenizer.
    instructions
        A sentence more for the model, such as what to pay attention to.
    chunk_tokens
        Tokens that are read at once; by default what the model is good for.
    temperature
        0 takes the likeliest words, and is more likely to go in circles.
    seed
        Draws the same again.
    """
    from vedette.tasks.summarise.task import SAMPLING, Summarise
    from vedette.types import Item

    options = options or JobOptions()
    check_paths(paths, summarise)
    task = Summarise(
        words=words,
        tokens=tokens,
        instructions=instructions,
        chunk_tokens=chunk_tokens,
        sampling=replace(SAMPLING, temperature=temperature, seed=seed),
    )
    as_rows = as_texts(paths, options)
    if _is_one_text(paths, options) and as_rows != options:
        rows = list(as_rows.source(paths).rows())
        if len(rows) == 1 and isinstance(rows[0], Item):
            return _print_one(task, rows[0], options)
    return run_job(task, paths, as_rows)


def _is_one_text(paths: tuple[str, ...], options: JobOptions) -> bool:
    """Whether one plain file goes to stdout, with no option that is about a job."""
    default = JobOptions()
    names = ("out", "journal", "json", "show_prompt", "retry_failed", "fresh", "limit", "sample")
    of_job = any(getattr(options, name) != getattr(default, name) for name in names)
    return len(paths or ("-",)) == 1 and not of_job and is_plain(paths, options)


def _print_one(task: Summarise, item: Item, options: JobOptions) -> int:
    """Print the summary, each sentence as soon as it stands; what was left out is told."""
    from vedette.batch.streamed import stream_item

    backend = open_backend(settings_of(options), quiet=options.quiet)
    try:
        out = _Sentences(task.keeper(item.text, backend))
        answer = stream_item(
            task,
            item,
            backend,
            is_last=task.is_last,
            on_text=out.more,
            on_part=_Parts(quiet=options.quiet).done,
        )
    finally:
        backend.close()
    value = cast("dict[str, Json] | None", answer.value)
    out.finish(str(value["summary"]) if value else "")
    if value:
        _tell(value, quiet=options.quiet)
    return 0


PARTS_EVERY_S = 5.0


class _Parts:
    """Says now and then how far a long text is read."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._last_s = time.monotonic()

    def done(self, n_done: int, n_all: int) -> None:
        """So many parts of all are read."""
        if n_all > 1 and time.monotonic() - self._last_s >= PARTS_EVERY_S:
            self._last_s = time.monotonic()
            note(f"{n_done} of {n_all} parts read", quiet=self._quiet)


class _Sentences:
    """What is printed of an answer that is being written: the sentences that stand."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._n_seen = self._n_chars = 0
        self._printed = ""

    def more(self, text: str) -> None:
        """The answer so far; it may have begun anew."""
        from vedette.tasks.summarise.keeper import written_sentences

        if len(text) < self._n_chars:
            self._n_seen = 0
        self._n_chars = len(text)
        sentences = list(written_sentences(text, is_whole=False))
        for sentence in sentences[self._n_seen :]:
            if self._keeper.take(sentence):
                self._print(self._keeper.text)
        self._n_seen = max(self._n_seen, len(sentences))

    def finish(self, summary: str) -> None:
        """What is left of the summary, and the end of the line."""
        if not summary.startswith(self._printed):
            sys.stdout.write("\n")
            self._printed = ""
        self._print(summary)
        sys.stdout.write("\n")
        sys.stdout.flush()

    def _print(self, text: str) -> None:
        sys.stdout.write(text[len(self._printed) :])
        sys.stdout.flush()
        self._printed = text


def _tell(value: dict[str, Json], *, quiet: bool) -> None:
    """On stderr: how it was read, and each sentence that was left out with its reason."""
    if value.get("whole"):
        note("the text is no longer than that: it is left as it is", quiet=quiet)
        return
    if value.get("extractive"):
        note("no sentence of the model's could stand: these are the text's own", quiet=quiet)
    for one in cast("list[dict[str, str]]", value["dropped"]):
        note(f"left out: {one['sentence']} ({one['fault']})", quiet=quiet)
    read = "at once" if value["chunks"] == 1 else f"in {value['chunks']} parts"
    note(f"{value['words']} words; {value['source_tokens']} tokens read {read}", quiet=quiet)
