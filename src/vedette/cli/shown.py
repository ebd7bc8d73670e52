"""Whether the pictures of a job are shown to the model, or their text is read first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vedette.cli.console import note
from vedette.errors import CapabilityMissing, InputError

if TYPE_CHECKING:
    from vedette.backends.base import Backend
    from vedette.batch.source import Source
    from vedette.cli.job import JobOptions
    from vedette.tasks.base import Task


def may_be_shown(task: Task, source: Source, options: JobOptions) -> bool:
    """Whether a projector is wanted, if there is one. Says why it is not where there could be one.

    Raises `InputError` where one is asked for that would be of no use.
    """
    from vedette.tasks.base import Sees

    wanted = options.read_by == "projector"
    has_projector = options.mmproj not in (None, "auto", "none")
    if not source.has_pictures:
        if options.read_by != "auto" or has_projector:
            flag = "--mmproj" if has_projector else "--read-by"
            raise InputError(f"{flag} is about pictures, and there are none in the input")
        return False
    if options.read_by == "ocr":
        if has_projector:
            raise InputError("--mmproj shows pictures, and --read-by ocr does not")
        return False
    why = task.why_text if isinstance(task, Sees) else f"{task.name} works on texts"
    if why and wanted:
        raise InputError(f"{why}, so a picture cannot be shown", hint="--read-by ocr reads it")
    if why and has_projector:
        note(f"pictures are read by OCR: {why}", quiet=options.quiet)
    return not why


def shown(source: Source, backend: Backend, options: JobOptions) -> tuple[Source, Backend]:
    """The rows and the backend as they go together: by the projector if there is one, else by OCR.

    Raises `CapabilityMissing` where a projector is asked for and none is there, or no OCR.
    """
    from vedette.backends.shown import Showing, projector_sha256

    sha256 = projector_sha256(backend)
    if sha256 is not None:
        return replace(source, shown_by=sha256), Showing(backend)
    if options.read_by == "projector":
        raise CapabilityMissing(
            "the model has no vision projector", hint="name one with --mmproj FILE"
        )
    source.check()
    return source, backend
