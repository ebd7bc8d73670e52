"""Make `.venv` and install vedette with its development tools into it. Safe to run again.

Standard library only, and readable by old Pythons down to the version check.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 (this is the check)
    found = ".".join(map(str, sys.version_info[:2]))
    sys.exit(f"install: Python {found} is too old; vedette needs 3.11 or newer.")

import tomllib

import progress

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOG = VENV / "install.log"
STAMP = VENV / ".installed"

NO_COMPILER = """\
install: no {what} compiler found; llama.cpp is compiled for this machine's processor.
         On Debian or Ubuntu: apt install g++. On Fedora: dnf install gcc-c++.
         Or set CC and CXX to the compilers to be used."""
NO_VENV = """\
install: {python} cannot make a virtual environment.
         On Debian or Ubuntu: apt install python3-venv."""
COMPILING = """\
Installing into .venv. llama-cpp-python is compiled for this machine's processor, which takes
about 10 minutes on two cores, less on more; only the first time. Log: {log}"""

# llama.cpp fills in the layout of the AMX tiles just before it loads it. GCC before 13.3 takes
# the instruction to read 8 bytes of it and drops the other writes, and the first answer crashes.
KEEP_TILE_CONFIG = "-fno-tree-dse -fno-dse"


def main() -> int:
    """Install everything; the exit code is that of the step that failed."""
    make_venv()
    compile_first = not has_binding()
    if compile_first:
        require_compiler("C", "CC", ("cc", "gcc", "clang"))
        require_compiler("C++", "CXX", ("c++", "g++", "clang++"))
        print(COMPILING.format(log=LOG.relative_to(ROOT)), flush=True)
    code = progress.run(pip_command(), log=LOG, label="starting", env=build_environment())
    if code == 0:
        STAMP.touch()
        print("Installed. Try: .venv/bin/vedette --help")
    return code


def make_venv() -> None:
    """Create `.venv` unless a usable one is there."""
    if PYTHON.exists() and python_says("import pip"):
        return
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=False)
    if made.returncode:
        sys.exit(NO_VENV.format(python=sys.executable))


def has_binding() -> bool:
    """Whether llama-cpp-python is in the environment already."""
    return python_says("import importlib.metadata as m; m.version('llama-cpp-python')")


def python_says(code: str) -> bool:
    """Whether `code` runs in the environment without an error."""
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, check=False)
    return done.returncode == 0


def require_compiler(what: str, variable: str, names: "tuple[str, ...]") -> None:
    """Stop with advice unless there is a compiler for the language `what`."""
    chosen = os.environ.get(variable)
    candidates = chosen.split()[:1] if chosen else names
    if not any(map(shutil.which, candidates)):
        sys.exit(NO_COMPILER.format(what=what))


def pip_command() -> "list[str]":
    """Install this folder, the extras that the tests use, and the development tools."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        tools = tomllib.load(file)["dependency-groups"]["dev"]
    options = ["--verbose", "--progress-bar", "off", "--disable-pip-version-check"]
    if keeps_tile_config():
        # A llama-cpp-python in pip's cache may have been built without it.
        options.append("--no-cache-dir")
    project = f"{ROOT}[data,postgres,clean,serve,mcp,pictures]"
    return [str(PYTHON), "-m", "pip", "install", *options, "--editable", project, *tools]


def build_environment() -> "dict[str, str]":
    """The caller's environment; the build uses every core unless told otherwise."""
    environment = {"CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count() or 1), **os.environ}
    if keeps_tile_config():
        flags = [environment.get("CXXFLAGS", ""), KEEP_TILE_CONFIG]
        environment["CXXFLAGS"] = " ".join(filter(None, flags))
    return environment


def keeps_tile_config() -> bool:
    """Whether the build is for tile registers (Linux only), by a compiler that takes the flags."""
    try:
        if " amx_tile" not in Path("/proc/cpuinfo").read_text():
            return False
    except OSError:
        return False
    compiler = os.environ.get("CXX", "c++").split()
    check = [*compiler, *KEEP_TILE_CONFIG.split(), "-fsyntax-only", "-x", "c++", os.devnull]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
