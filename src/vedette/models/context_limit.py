"""How much text a model is good for, as `vedette context` measured it: one small file each.

context/<sha256 of the model file>.json, in the folder of the setting `home`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from vedette.errors import FileError
from vedette.models.atomic import write_json
from vedette.models.home import home, make_dir


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLimit:
    """Up to `limit_tokens` of a prompt the model finds what stands in it about as well as in few.

    `measured_tokens` is the longest prompt that was tried: a limit that equals it may lie higher.
    `date` is the day, as ISO 8601 has it.
    """

    limit_tokens: int
    measured_tokens: int
    n_questions: int
    date: str


def remember(sha256: str, limit: ContextLimit) -> Path:
    """Store the limit of a model file, in place of an earlier one. Raises `FileError`."""
    path = _path(sha256)
    make_dir(path.parent)
    try:
        write_json(path, asdict(limit))
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
    return path


def recall(sha256: str) -> ContextLimit | None:
    """The limit of a model file, or None where none was measured.

    Raises `FileError` for a file that is there and says none: a job must not silently change.
    """
    path = _path(sha256)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise _damaged(path) from error
    numbers = ("limit_tokens", "measured_tokens", "n_questions")
    if (
        not isinstance(content, dict)
        or any(type(content.get(name)) is not int or content[name] < 1 for name in numbers)
        or not isinstance(content.get("date"), str)
    ):
        raise _damaged(path)
    return ContextLimit(date=content["date"], **{name: content[name] for name in numbers})


def any_stored() -> bool:
    """Whether there is any; if not, nobody needs a file's hash for it."""
    return (home() / "context").is_dir()


def _path(sha256: str) -> Path:
    return home() / "context" / f"{sha256}.json"


def _damaged(path: Path) -> FileError:
    return FileError(
        f"{path} holds no context limit", hint="delete it, or measure again: vedette context MODEL"
    )
