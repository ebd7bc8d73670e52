"""Which projector a model is given: the one that is named, or the one that lies beside it."""

from __future__ import annotations

from pathlib import Path

from vedette.errors import ModelNotFound, VedetteError
from vedette.models.gguf_header import read_header
from vedette.models.home import models_dir
from vedette.models.progress import Progress
from vedette.models.projector_file import PATTERN, check_model, read_projector

WITHOUT = "none"


def projector_for(wanted: str | None, model: Path, progress: Progress | None = None) -> Path | None:
    """The projector's file: `wanted`, none if that is `none`, or, for None, the one beside `model`.

    What is found is said. One that does not go with the model is left out then, with its reason.
    Raises `ModelNotFound` for a file that is not there.
    """
    if wanted == WITHOUT:
        return None
    if wanted is not None:
        path = Path(wanted).expanduser()
        if not path.is_file():
            raise ModelNotFound(f"there is no projector file {path}")
        return path
    found, note = _beside(model)
    if note and progress is not None:
        progress.note(note)
    return found


def _beside(model: Path) -> tuple[Path | None, str]:
    """The projector in the model's folder, and what is to be said."""
    folder = model.absolute().parent
    if folder == models_dir():  # all models lie there, and whose it is cannot be told
        return None, ""
    files = sorted(path for path in folder.glob(PATTERN) if path != model.absolute())
    if not files:
        return None, ""
    if len(files) > 1:
        names = ", ".join(path.name for path in files)
        return None, f"{folder} has several projectors ({names}): name one with --mmproj"
    try:
        check_model(read_projector(files[0]), read_header(model), model.name)
    except VedetteError as error:
        return None, f"no pictures are shown to the model: {error}"
    return files[0], f"pictures are shown to the model by {files[0]} (--mmproj none: not)"
