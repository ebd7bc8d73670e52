"""Which part of a project a file belongs to, and the scope of a change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .diff import File
from .file_kinds import SOURCE, kind_of_path

# Folders that say how a project is laid out, not what it is about.
_LAYOUT = {
    "src", "lib", "libs", "app", "apps", "packages", "pkg", "crates", "modules", "internal",
    "cmd", "source", "sources", "python", "java", "main", "kotlin",
}  # fmt: skip
_KINDS = {"test": "tests", "docs": "docs", "ci": "CI", "build": "build"}
ROOT = "root"
MAX_SCOPE_CHARS = 20


def area_of(path: str) -> str:
    """The folder that a reader would name: two levels below the layout, or the kind of file."""
    kind = kind_of_path(path)
    if kind in _KINDS:
        return _KINDS[kind]
    folders = _telling(path.split("/")[:-1])
    return "/".join(folders[:2]) or ROOT


def scope_of(files: Iterable[File], known: Sequence[str] = ()) -> str | None:
    """The scope that all files share, source before all else; None where they share none.

    `known` are scopes that the project uses: one that is a folder or the name of all files comes
    first.
    """
    files = list(files)
    of_source = [file for file in files if kind_of_path(file.path) == SOURCE]
    paths = [file.path for file in of_source or files]
    if not paths:
        return None
    shared = _common([path.split("/")[:-1] for path in paths])
    stems = {path.rsplit("/", 1)[-1].partition(".")[0] for path in paths}
    names = [*shared, *(stems if len(stems) == 1 else ())]
    for name in reversed(names):
        if name in known:
            return str(name)
    folders = _telling(shared)
    if shared[:1] == ["src"] and len(shared) == 2 and paths[0].endswith(".py"):
        return None  # the package itself is no part of the project
    lies_there = any(path.split("/")[:-1] == shared for path in paths)
    if not folders or (len(folders) == 1 and not lies_there):
        return None
    return _scope(folders[-1])


def _telling(folders: Sequence[str]) -> list[str]:
    start = next((i for i, name in enumerate(folders) if name not in _LAYOUT), len(folders))
    return list(folders[start:])


def _common(paths: Sequence[Sequence[str]]) -> list[str]:
    """The folders that all begin with."""
    shared: list[str] = []
    for names in zip(*paths, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return shared


def _scope(name: str) -> str | None:
    """A folder's name as a scope; None where it cannot be one."""
    clean = name.strip("._").lower()
    if not clean or len(clean) > MAX_SCOPE_CHARS or set(clean) & set("() :!\\\"'"):
        return None
    return clean
