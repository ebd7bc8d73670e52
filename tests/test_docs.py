"""Pages that must agree with the code: those generated from it, and lists of what there is."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_generated_pages_are_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "gen_docs.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_dependency_has_its_reason_and_no_reason_is_stale():
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    reasons = dict(re.findall(r"^- \*\*(\S+)\*\*[^:]*: (\S.*)$", page, flags=re.MULTILINE))
    assert sorted(reasons) == sorted(declared())


def test_every_dependency_has_exactly_one_line():
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \*\*(\S+)\*\*", page, flags=re.MULTILINE)
    assert len(listed) == len(set(listed))


def test_every_file_of_the_benchmarks_is_in_their_list():
    folder = ROOT / "benchmarks"
    listed = set(re.findall(r"[\w.]+\.\w+", (folder / "README.md").read_text(encoding="utf-8")))
    there = {path.name for path in folder.iterdir() if path.is_file()} - {"README.md"}
    assert sorted(there - listed) == []


def declared() -> set[str]:
    """Names of all dependencies in pyproject.toml: runtime, extras, groups, build."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = table["project"]
    own = {f"{project['name']}[{extra}]" for extra in project["optional-dependencies"]}
    lists = [
        project["dependencies"],
        *project.get("optional-dependencies", {}).values(),
        *table.get("dependency-groups", {}).values(),
        table["build-system"]["requires"],
    ]
    named = {entry for entries in lists for entry in entries} - own
    return {re.split(r"[^\w.-]", entry)[0] for entry in named}
