"""`vedette run-batch`: a file of OpenAI batch requests, answered without a server."""

from __future__ import annotations

import sys
from pathlib import Path

from vedette.cli.console import note
from vedette.cli.job import open_backend
from vedette.cli.serve import missing_extra, without_adapters
from vedette.config import load


def run_batch(
    path: Path,
    *,
    out: str,
    model: str | None = None,
    backend: str | None = None,
    alias: str | None = None,
    lora: tuple[str, ...] = (),
    retry_failed: bool = False,
    fresh: bool = False,
    width: int | None = None,
    threads: int | None = None,
    context_tokens: int | None = None,
    no_tune: bool = False,
    offline: bool | None = None,
    quiet: bool = False,
) -> int:
    """Answer a file of requests as OpenAI's batches have them, and write the results.

    Parameters
    ----------
    path
        Lines of {"custom_id", "method", "url", "body"}.
    out
        File for the results (a journal beside it makes the run resumable).
    model
        Name, hf:user/repo:QUANT or path of the weights.
    backend
        Who answers: local, llama-server:URL, llama-server:[PROGRAM@]MODEL, openai:URL#MODEL.
    alias
        Name under which the lines ask for the model.
    lora
        A LoRA adapter that lines may ask for, as the model NAME:ADAPTER; may be given again.
    retry_failed
        Ask the lines again that ended in an error.
    fresh
        Forget earlier runs and write the output anew.
    width
        Most sequences in one batch, or requests at once to a server.
    threads
        CPU threads.
    context_tokens
        Most tokens of prompt and answer together.
    no_tune
        Use the weights as downloaded, also where `vedette tune` made a faster copy of them.
    offline
        Never use the network.
    quiet
        No progress and no summary.
    """
    try:
        from vedette.serve.offline import check_files, run_file
        from vedette.serve.options import ServeOptions
    except ModuleNotFoundError as error:
        raise missing_extra(error, "run-batch") from error
    from vedette.backends.personas import parse_personas
    from vedette.batch.progress import progress_on

    settings = load(
        model=model,
        backend=backend,
        lora=",".join(lora) if lora else None,
        width=width,
        threads=threads,
        context_tokens=context_tokens,
        tuned=False if no_tune else None,
        offline=offline,
    )
    check_files(path, out, fresh=fresh)
    opened = without_adapters(open_backend(settings, quiet=quiet))
    try:
        options = ServeOptions(
            model=alias or opened.name.partition(", tuned")[0],
            max_requests=settings.max_requests,
            deadline_s=settings.timeout_s,
            personas=parse_personas(settings.lora),
        )
        ending = run_file(
            opened,
            options,
            path,
            out,
            progress_on(sys.stderr, quiet=quiet),
            fresh=fresh,
            retry_failed=retry_failed,
        )
    finally:
        opened.close()
    if ending.interrupted:
        note("interrupted: run the same command again to go on", quiet=quiet)
        return 130
    lines, errors = _count(ending.total, "line"), _count(ending.failed, "error")
    note(f"{lines}: {ending.completed:,} answered, {errors}", quiet=quiet)
    return 1 if ending.failed else 0


def _count(n: int, what: str) -> str:
    return f"1 {what}" if n == 1 else f"{n:,} {what}s"
