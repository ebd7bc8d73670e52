"""Every ending of a command: its exit code, and what is said about it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from vedette.cli import main as cli
from vedette.cli.main import make_app, run
from vedette.errors import ModelNotFound

HEAVY = ("llama_cpp", "numpy", "llguidance", "pydantic", "huggingface_hub", "httpx2", "jinja2")


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], int]], None]:
    """Registers a function as the verb `fake`."""

    def register(function: Callable[[], int]) -> None:
        module = ModuleType("fake_verb")
        module.fake = function  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "fake_verb", module)
        monkeypatch.setitem(cli.VERBS, "fake", ("fake_verb:fake", "Fake."))

    return register


def raising(error: BaseException) -> Callable[[], int]:
    def fake() -> int:
        raise error

    return fake


def python(*arguments: str, **kwargs: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)


@pytest.mark.parametrize("name", cli.VERBS)
def test_every_verb_in_the_help_can_be_loaded(name):
    assert make_app()[name].help


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_no_heavy_module(option):
    code = (
        "import sys; from vedette.cli.main import run; code = run(sys.argv[1:2]);"
        "print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr);"
        "sys.exit(code)"
    )
    done = python("-c", code, option)
    assert done.returncode == 0
    assert done.stdout
    assert set(done.stderr.split()).isdisjoint(HEAVY)


def test_help_loads_no_verb_and_names_all_of_them():
    code = (
        "import sys; from vedette.cli.main import VERBS, run; run(['--help']);"
        "sys.exit(any(path.split(':')[0] in sys.modules for path, _ in VERBS.values()))"
    )
    done = python("-c", code)
    assert done.returncode == 0
    assert [name for name in cli.VERBS if f"  {name}: " not in done.stdout] == []


def test_a_verb_that_cannot_be_imported_leaves_the_others_alone(monkeypatch, capsys):
    monkeypatch.setitem(cli.VERBS, "aa-broken", ("vedette.cli.nonesuch:verb", "Broken."))
    assert run(["config", "show"]) == 0
    assert run(["--help"]) == 0
    assert "aa-broken: Broken." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["extrat"], 'Unknown command "extrat". Did you mean "extract"? Run "vedette --help"'),
        (["zzz"], 'Unknown command "zzz". Valid are pull, models, '),
        (["--verson"], 'Unknown option "--verson". Did you mean "--version"?'),
        (["config", "shwo"], 'Unknown command "shwo". Did you mean "show"?'),
        (["config", "show", "--orign"], "Unknown option: --orign. Did you mean --origin?"),
        (["config", "show", "--no-json"], "Unknown option: --no-json. Did you mean --json?"),
        (["config", "show", "x"], 'Unexpected argument "x". Run "vedette config show --help"'),
    ],
)
def test_wrong_usage_is_one_line_with_the_nearest_valid_name(tokens, said, capsys):
    assert run(tokens) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"vedette: {said}")
    assert err.count("\n") == 1


def test_a_misspelt_verb_loads_no_verb(monkeypatch, capsys):
    monkeypatch.setitem(cli.VERBS, "aa-broken", ("vedette.cli.nonesuch:verb", "Broken."))
    assert run(["extrat"]) == 2


def test_an_expected_error_is_one_line_with_its_hint(verb, capsys):
    verb(raising(ModelNotFound("no model\nnamed 'x'", hint="run vedette pull x")))
    assert run(["fake"]) == 2
    assert capsys.readouterr().err == "vedette: no model named 'x'. run vedette pull x.\n"


def test_an_expected_error_without_hint_is_one_line(verb, capsys):
    verb(raising(ModelNotFound("no model named 'x'.")))
    assert run(["fake"]) == 2
    assert capsys.readouterr().err == "vedette: no model named 'x'.\n"


@pytest.mark.parametrize("code", [0, 1])
def test_the_code_that_a_verb_returns_is_the_exit_code(verb, code):
    verb(lambda: code)
    assert run(["fake"]) == code


def test_an_interrupt_that_the_verb_did_not_handle_is_130_without_traceback(verb, capsys):
    verb(raising(KeyboardInterrupt()))
    assert run(["fake"]) == 130
    assert capsys.readouterr().err == "vedette: interrupted.\n"


def test_an_unexpected_error_shows_its_traceback_and_is_70(verb, capsys):
    verb(raising(ZeroDivisionError("oops")))
    assert run(["fake"]) == 70
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "ZeroDivisionError: oops" in err


def test_a_reader_that_went_away_is_quiet():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "vedette.cli.main", "--help"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_the_installed_command_passes_its_exit_code_on():
    done = python("-m", "vedette.cli.main", "nonesuch")
    assert done.returncode == 2
    assert done.stderr.startswith("vedette: ")
