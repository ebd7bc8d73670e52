"""A real PostgreSQL server of a test's own, where one is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path

import pytest


def _programs() -> Path | None:
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else [*map(Path, glob("/usr/lib/postgresql/*/bin"))]
    return next((place for place in places if (place / "pg_ctl").exists()), None)


def _owner() -> str | None:
    """The server refuses to run as root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


@contextmanager
def running_postgres(user: str) -> Iterator[Path]:
    """The folder of the server's socket; skips the test where no server is installed."""
    programs, owner = _programs(), _owner()
    if programs is None or owner is None:
        pytest.skip("no PostgreSQL server is installed")
    with tempfile.TemporaryDirectory(prefix="vedette-pg") as name:
        folder = Path(name)
        if os.geteuid() == 0:
            shutil.chown(folder, owner)

        def call(program: str, *arguments: str) -> None:
            command = [str(programs / program), *arguments]
            as_user = owner if os.geteuid() == 0 else None
            log = folder.with_suffix(".log")
            with log.open("ab") as out:  # pg_ctl's server keeps it open
                done = subprocess.run(command, stdout=out, stderr=out, user=as_user, cwd=folder)
            assert done.returncode == 0, log.read_text("utf-8", "replace")

        data, options = str(folder / "data"), f"-k {folder} -c listen_addresses=''"
        call("initdb", "-D", data, "-U", user, "-A", "trust", "-E", "UTF8", "--locale", "C")
        call("pg_ctl", "-D", data, "-w", "-o", options, "start")
        try:
            yield folder
        finally:
            call("pg_ctl", "-D", data, "-m", "immediate", "stop")
            folder.with_suffix(".log").unlink(missing_ok=True)
