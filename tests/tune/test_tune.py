"""`vedette tune` as it is run, on a tiny model; and what follows from a tuned copy."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_speeds import Speeds

from vedette.backends.local import LocalBackend
from vedette.backends.open import open_backend
from vedette.cli.main import run as cli
from vedette.config import load
from vedette.doctor.machine import Machine, Memory, this_machine
from vedette.engine.options import EngineOptions
from vedette.errors import CalibrationMismatch, FileError, HashMismatch, InputError
from vedette.models import tuned
from vedette.models.context_limit import ContextLimit, remember
from vedette.models.fingerprint import file_sha256
from vedette.models.gguf_facts import read_facts
from vedette.tasks.calibrations import Calibrations, key_of
from vedette.tune import run as tune_run
from vedette.tune.curves import FEW_SIZES
from vedette.types import Message, Prompt, Request, ScoreRequest

QUICK = ("--quick", "--seconds", "0.01", "--threads", "1", "--types", "Q8_0", "--quiet")
LOOSE = ("--max-kl", "9", "--min-agreement", "0")
ONE = EngineOptions(threads=1)


def tune(path: Path, *more: str) -> int:
    return cli(["tune", str(path), *QUICK, *more])


@pytest.fixture(scope="session")
def tuned_home(tiny_full: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A VEDETTE_HOME with a tuned copy of the model, made once."""
    folder = tmp_path_factory.mktemp("tuned") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VEDETTE_HOME", str(folder))
        patch.setattr(tune_run, "take_turns", Speeds().take_turns)
        assert tune(tiny_full, *LOOSE) == 0
    return folder


@pytest.fixture
def tuned_full(tiny_full: Path, tuned_home: Path, speeds: Speeds, home: Path) -> Path:
    """A model of which there is a tuned copy, the test's own."""
    shutil.copytree(tuned_home, home)
    return tiny_full


def test_a_faster_copy_within_the_bounds_is_kept_with_its_curve(tuned_full: Path, home: Path):
    found = tuned.find(file_sha256(tuned_full))
    assert found is not None
    assert found.copy is not None
    assert found.copy.type == "Q8_0"
    assert found.copy.sha256 == file_sha256(found.path)
    assert [n for n, _ in found.tokens] == [n for n, _ in found.sequences] == list(FEW_SIZES)
    shares = {share.type for share in read_facts(found.path).quantisation}
    assert shares == {"F32", "Q8_0"}
    assert sorted(path.suffix for path in (home / "tuned").iterdir()) == [".gguf", ".json", ".lock"]


def test_it_says_gains_quality_and_what_follows(tiny_full: Path, speeds, capsys):
    assert tune(tiny_full, *LOOSE) == 0
    out, err = capsys.readouterr()
    assert "Q8_0 is used from now on: 2.00 times the prefill rate" in out
    assert "Next tokens: KL 0.0" in out
    assert "of 90 answered alike" in out
    assert "Thresholds calibrated on the source do not hold for the copy" in out
    assert err == ""


def test_json_is_the_report_that_is_stored(tiny_full: Path, speeds, capsys):
    assert tune(tiny_full, *LOOSE, "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["chosen"] == "Q8_0"
    (tried,) = body["tried"]
    assert tried["gain"] == {"prefill": 2.0, "alone": 2.0, "together": 2.0, "item": 2.0}
    assert 0 < tried["divergence"]["kl"] < 0.1
    assert tried["agreement"]["n_questions"] == 90
    assert [one["name"] for one in body["by_kv_type"]] == ["f16"]  # rows of 16 hold no q8_0
    assert any(text.startswith("KV cache in q8_0") for text in body["cannot"])
    found = tuned.find(file_sha256(tiny_full))
    assert found is not None
    assert json.loads(json.dumps(found.report)) == body


def test_what_was_measured_is_told_again_without_measuring(tuned_full: Path, monkeypatch, capsys):
    capsys.readouterr()
    monkeypatch.setattr(tune_run, "tune", None)
    assert cli(["tune", str(tuned_full)]) == 0
    out, err = capsys.readouterr()
    assert "Q8_0 is used from now on" in out
    assert "--fresh measures again" in err


@pytest.mark.parametrize(
    "asked", [("--max-kl", "0.3"), ("--types", "Q4_0"), ("--threads", "7"), ("--margin", "0.5")]
)
def test_what_was_measured_otherwise_is_not_told_for_what_is_asked(tuned_full, asked, capsys):
    capsys.readouterr()
    assert cli(["tune", str(tuned_full), *asked]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{asked[0]} is not what {tuned_full} was measured with" in err
    assert "add --fresh" in err


@pytest.mark.parametrize(
    ("times", "bounds", "why"),
    [
        (2.0, ("--max-kl", "0.000001"), "nothing within the bounds is faster"),
        (1.02, LOOSE, "no other packing is faster here"),
        (0.5, LOOSE, "no other packing is faster here"),
        (2.0, (*LOOSE, "--margin", "0.6"), "no other packing is faster here"),
    ],
)
def test_no_copy_is_made_where_the_source_is_best(
    tiny_full: Path, speeds, home: Path, capsys, times, bounds, why
):
    speeds.times = times
    assert tune(tiny_full, *bounds) == 0
    out = capsys.readouterr().out
    assert why in out
    assert ("Q8_0 would be 2.00 times as fast" in out) is ("--max-kl 0.000001" in " ".join(bounds))
    found = tuned.find(file_sha256(tiny_full))
    assert found is not None
    assert found.copy is None
    assert found.path is None
    assert found.tokens
    assert not list((home / "tuned").glob("*.gguf"))


def test_a_type_that_the_source_has_already_is_not_tried(tuned_full: Path, speeds, capsys):
    found = tuned.find(file_sha256(tuned_full))
    assert found is not None
    assert found.path is not None
    capsys.readouterr()
    assert tune(found.path, *LOOSE, "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["tried"] == []
    assert body["chosen"] is None
    assert body["source"]["prefill"]["tokens_per_s"] > 0


def test_the_copy_answers_and_is_another_model(tuned_full: Path):
    plain = LocalBackend(tuned_full, ONE)
    copy = LocalBackend(tuned_full, ONE, use_tuned=True)
    try:
        assert not plain.is_tuned
        assert copy.is_tuned
        assert copy.name == f"{tuned_full}, tuned (Q8_0)"
        assert copy.identity["model_sha256"] == file_sha256(copy.path) != plain.sha256
        assert copy.identity["tuned_from"] == plain.identity["model_sha256"]
        assert "tuned_from" not in plain.identity
        assert copy.tuning is not None
        assert copy.submit(Request(prompt=Prompt(raw="the"), max_tokens=2)).result().text
    finally:
        plain.close()
        copy.close()


def test_the_engine_begins_with_the_curve_if_it_was_timed_as_the_engine_works(tuned_full: Path):
    found = tuned.find(file_sha256(tuned_full))
    assert found is not None
    for options, known in (
        (ONE, True),
        (replace(ONE, threads=2), False),
        (replace(ONE, kv_type="f32"), False),
    ):
        backend = LocalBackend(tuned_full, options, use_tuned=True)
        backend.close()
        curve = backend.engine.options.curve
        assert (curve is not None and curve.points == found.tokens) is known
    backend = LocalBackend(tuned_full, ONE)
    backend.close()
    assert backend.engine.options.curve is None


def test_the_settings_decide_and_one_line_tells(tuned_full: Path):
    class Notes:
        def __init__(self) -> None:
            self.texts: list[str] = []

        def note(self, text: str) -> None:
            self.texts.append(text)

    for wanted in (True, False):
        notes = Notes()
        settings = load(model=str(tuned_full), threads=1, tuned=wanted, offline=True)
        backend = open_backend(settings, notes)  # type: ignore[arg-type]
        backend.close()
        assert ("tuned_from" in backend.identity) is wanted
        assert len(notes.texts) == wanted
        assert all("--no-tune" in text for text in notes.texts)


def test_a_server_is_not_asked_for_what_only_this_process_has():
    settings = load(backend="openai:http://127.0.0.1:9/v1#m", tuned=False)
    with pytest.raises(InputError, match="tuned has no effect"):
        open_backend(settings)


def test_a_job_says_that_a_copy_answers_and_no_tune_leaves_it_aside(
    tuned_full: Path, home: Path, capsys
):
    texts = home / "texts.txt"
    texts.write_text("the\n", "utf-8")
    job = ["classify", str(texts), "--labels", "yes,no", "--model", str(tuned_full)]
    job += ["--threads", "1", "--offline", "--prior", "none", "--out", str(home / "out.jsonl")]
    assert cli(job) == 0
    assert "answers come from the copy that `vedette tune` made" in capsys.readouterr().err
    assert cli([*job, "--no-tune"]) == 2
    assert "backend.tuned_from is gone" in capsys.readouterr().err  # the journal is of the copy
    assert cli([*job, "--no-tune", "--fresh"]) == 0
    assert "vedette tune" not in capsys.readouterr().err


def test_thresholds_of_the_source_are_refused_with_what_to_do(tuned_full: Path):
    plain = LocalBackend(tuned_full, ONE)
    copy = LocalBackend(tuned_full, ONE, use_tuned=True)
    try:
        of_plain = Calibrations("t", key_of("made for", plain), {})
        of_plain.check("t", lambda backend: key_of("made for", backend), plain)
        with pytest.raises(CalibrationMismatch, match="a tuned copy of them answers") as caught:
            of_plain.check("t", lambda backend: key_of("made for", backend), copy)
        assert "--no-tune" in (caught.value.hint or "")
        with pytest.raises(CalibrationMismatch, match="another model or prompt"):
            of_plain.check("t", lambda backend: key_of("something else", backend), copy)
    finally:
        plain.close()
        copy.close()


def test_how_much_text_is_of_use_is_the_sources_measurement(tuned_full: Path):
    limit = ContextLimit(limit_tokens=700, measured_tokens=900, n_questions=1, date="2026-01-01")
    remember(file_sha256(tuned_full), limit)
    copy = LocalBackend(tuned_full, ONE, use_tuned=True)
    copy.close()
    assert copy._useful_tokens == 700


def test_models_and_show_tell_of_the_copy(tuned_full: Path, capsys):
    capsys.readouterr()
    assert cli(["show", str(tuned_full)]) == 0
    assert "Q8_0" in next(
        line for line in capsys.readouterr().out.splitlines() if line.startswith("tuned copy")
    )
    assert cli(["tune", str(tuned_full), "--forget"]) == 0
    assert cli(["show", str(tuned_full)]) == 0
    assert "not measured here: `vedette tune` does that" in capsys.readouterr().out


def test_the_list_of_models_names_the_copy_of_each(tuned_full: Path, home: Path, capsys):
    store = home / "models"
    store.mkdir()
    shutil.copy(tuned_full, store / "tiny.gguf")
    stat = (store / "tiny.gguf").stat()
    manifest = {
        "name": "hf:someone/tiny/tiny.gguf",
        "file": "tiny.gguf",
        "size_bytes": stat.st_size,
        "mtime_ns": stat.st_mtime_ns,
        "sha256": file_sha256(tuned_full),
        "licence": "",
        "source": "",
    }
    (store / "tiny.json").write_text(json.dumps(manifest), "utf-8")
    capsys.readouterr()
    assert cli(["models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "tuned copy" in line] == [
        next(line for line in lines if line.startswith("hf:someone/tiny"))
    ]
    assert any(line.endswith("here, tuned copy (Q8_0)") for line in lines)


def test_a_machine_with_too_little_memory_for_both_is_told_before(
    tiny_full: Path, speeds, home: Path, monkeypatch, capsys
):
    def little(folder: Path) -> Machine:
        memory = Memory(total_bytes=10**9, available_bytes=600_000)  # the source alone would fit
        return replace(this_machine(folder), memory=memory)

    monkeypatch.setattr(tune_run, "this_machine", little)
    assert tune(tiny_full, *LOOSE) == 2
    assert "of memory and 600 kB are available" in capsys.readouterr().err
    assert tuned.find(file_sha256(tiny_full)) is None


def test_forget_removes_copy_and_manifest(tuned_full: Path, home: Path, capsys):
    capsys.readouterr()
    assert cli(["tune", str(tuned_full), "--forget"]) == 0
    assert "removed a tuned copy" in capsys.readouterr().out
    assert [path.suffix for path in (home / "tuned").iterdir()] == [".lock"]
    assert tuned.find(file_sha256(tuned_full)) is None
    assert cli(["tune", str(tuned_full), "--forget"]) == 0
    assert "no tuned copy was there" in capsys.readouterr().out


def test_an_interruption_leaves_what_was_there_and_nothing_else(
    tuned_full: Path, home: Path, monkeypatch, capsys
):
    before = {path.name: path.read_bytes() for path in (home / "tuned").iterdir()}

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tune_run, "divergence", interrupt)
    assert cli(["tune", str(tuned_full), *QUICK[:-1], *LOOSE, "--fresh"]) == 130
    assert "nothing was changed" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in (home / "tuned").iterdir()} == before


def test_what_a_killed_run_left_is_cleared_away(tiny_full: Path, speeds, home: Path):
    left = tuned.beside(file_sha256(tiny_full), ".work")
    left.mkdir(parents=True)
    (left / "Q8_0.gguf").write_bytes(b"half")
    assert tune(tiny_full, *LOOSE) == 0
    assert not left.exists()


def test_another_machine_or_build_finds_nothing(tuned_full: Path, monkeypatch):
    sha256 = file_sha256(tuned_full)
    cpu = tuned.this_cpu()
    monkeypatch.setattr(tuned, "this_cpu", lambda: replace(cpu, features=("SSE3",)))
    assert tuned.find(sha256) is None
    monkeypatch.setattr(tuned, "this_cpu", lambda: cpu)
    assert tuned.find(sha256) is not None
    monkeypatch.setattr(tuned, "build_words", lambda: "another build")
    assert tuned.find(sha256) is None


def test_a_copy_that_was_deleted_by_hand_is_as_never_made(tuned_full: Path):
    found = tuned.find(file_sha256(tuned_full))
    assert found is not None
    assert found.path is not None
    found.path.unlink()
    assert tuned.find(file_sha256(tuned_full)) is None


def test_a_copy_that_was_changed_is_refused(tuned_full: Path):
    found = tuned.find(file_sha256(tuned_full))
    assert found is not None
    assert found.path is not None
    content = found.path.read_bytes()
    found.path.write_bytes(content[:-1] + b"x")
    with pytest.raises(HashMismatch, match="is not the file that was made"):
        LocalBackend(tuned_full, ONE, use_tuned=True)
    found.path.write_bytes(content)  # the same bytes with a new time of change
    LocalBackend(tuned_full, ONE, use_tuned=True).close()


def test_a_damaged_manifest_is_told(tuned_full: Path):
    tuned.beside(file_sha256(tuned_full), ".json").write_text("{}", "utf-8")
    with pytest.raises(FileError, match="is not what `vedette tune` writes"):
        tuned.find(file_sha256(tuned_full))


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        (("--max-kl", "0"), "max_kl must be above 0"),
        (("--min-agreement", "1.5"), "min_agreement must be from 0 to 1"),
        (("--margin", "-1"), "margin must be from 0 to 1"),
        (("--seconds", "0"), "--seconds must be above 0"),
        (("--types", "Q9_9"), "'Q9_9' is no way to pack that is tried"),
        (("--types", ","), "is no way to pack that is tried"),
        (("--html", "/"), "cannot write /: it is no file"),
    ],
)
def test_numbers_and_names_that_mean_nothing_are_refused(
    tiny_full: Path, capsys, option, complaint
):
    assert cli(["tune", str(tiny_full), *option]) == 2
    assert complaint in capsys.readouterr().err


def test_the_page_stands_alone_and_shows_both_curves(tiny_full: Path, speeds, tmp_path: Path):
    page = tmp_path / "tune.html"
    assert tune(tiny_full, *LOOSE, "--html", str(page)) == 0
    text = page.read_text("utf-8")
    assert text.count("<svg") == 2
    assert text.count("<polyline") == 4
    assert "http" not in text
    assert "<script" not in text
    assert "Q8_0 is used from now on" in text


@pytest.mark.parametrize("kind", ["recurrent", "hybrid", "sliding"])
def test_other_memory_kinds_are_tuned_as_well(tiny_models, speeds, kind):
    assert tune(tiny_models[kind], *LOOSE) == 0
    found = tuned.find(file_sha256(tiny_models[kind]))
    assert found is not None
    assert found.copy is not None


def test_a_copy_gives_nearly_the_scores_of_its_source(tuned_full: Path):
    request = ScoreRequest(
        prompt=Prompt((Message("user", "the service failed"),)), choices=("yes", "no")
    )
    rows = []
    for use_tuned in (False, True):
        backend = LocalBackend(tuned_full, ONE, use_tuned=use_tuned)
        rows.append(backend.submit(request).result().logprobs)
        backend.close()
    assert rows[0] != rows[1]
    assert rows[0] == pytest.approx(rows[1], abs=1.0)
