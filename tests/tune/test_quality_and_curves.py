"""The parts of tuning: packing in a child, divergence, agreement, gains, curves, the order."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader

from vedette.doctor.probe import Probe, probe_spec
from vedette.engine.curve import CostCurve
from vedette.engine.llama.context import Context
from vedette.engine.llama.model import Model
from vedette.errors import EngineFailed
from vedette.models.gguf_facts import read_facts
from vedette.models.progress import Silent
from vedette.tune import requantise as requantise_module
from vedette.tune.candidates import CANDIDATES, Candidate, candidates_of, fitting
from vedette.tune.curves import curves_of, paddings
from vedette.tune.plan import thread_counts
from vedette.tune.quality import Question, _kl, agreement, answers, divergence, questions, sample
from vedette.tune.requantise import expected_bytes, requantise
from vedette.tune.speed import WIDTH, Gain, Round, take_turns
from vedette.types import Prompt

Q4_0 = Candidate("Q4_0", "Q4_0", 32)
WITH_HEAD = Candidate("Q4_0", "Q4_0", 32, "Q8_0")


def pack(source: Path, target: Path, candidate: Candidate) -> None:
    requantise(source, target, candidate, threads=1, progress=Silent(), total_bytes=1)


@pytest.mark.parametrize("candidate", [Q4_0, WITH_HEAD], ids=lambda one: one.name)
def test_a_file_is_packed_as_asked_and_about_as_large_as_expected(tiny_full, tmp_path, candidate):
    target = tmp_path / "packed.gguf"
    pack(tiny_full, target, candidate)
    shares = {share.type: share.n_tensors for share in read_facts(target).quantisation}
    assert shares.get("Q8_0", 0) == (2 if candidate.head else 0)
    assert shares["Q4_0"] == 14 + (0 if candidate.head else 2)
    assert target.stat().st_size == pytest.approx(expected_bytes(tiny_full, candidate), rel=0.02)


def test_what_is_packed_already_is_only_copied(tiny_full, tmp_path):
    pack(tiny_full, tmp_path / "finer.gguf", WITH_HEAD)
    pack(tiny_full, tmp_path / "direct.gguf", Q4_0)
    pack(tmp_path / "finer.gguf", tmp_path / "begun.gguf", Q4_0)
    direct, begun = (
        {one.name: (one.tensor_type, one.data.tobytes()) for one in GGUFReader(path).tensors}
        for path in (tmp_path / "direct.gguf", tmp_path / "begun.gguf")
    )
    assert {name for name in direct if direct[name] != begun[name]} <= {
        "token_embd.weight",
        "output.weight",
    }


def test_a_source_that_is_none_ends_the_child_not_this_process(tmp_path):
    (tmp_path / "no.gguf").write_bytes(b"not a model at all")
    with pytest.raises(EngineFailed, match=r"packing no\.gguf as Q4_0 failed: llama\.cpp"):
        pack(tmp_path / "no.gguf", tmp_path / "out.gguf", Q4_0)


def test_a_child_that_crashes_is_told_by_its_signal(tiny_full, tmp_path, monkeypatch):
    (tmp_path / "crash.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(requantise_module, "_MODULE", "crash")
    with pytest.raises(EngineFailed, match="ended by signal 11"):
        pack(tiny_full, tmp_path / "out.gguf", Q4_0)


def test_a_child_does_not_outlive_an_interruption(tiny_full, tmp_path, monkeypatch):
    (tmp_path / "slow.py").write_text(
        "import sys, time\nopen(sys.argv[2], 'wb').write(b'begun')\ntime.sleep(60)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(requantise_module, "_MODULE", "slow")
    started: list[object] = []

    class Impatient(Silent):
        def start(self, total_bytes: int, label: str) -> None:
            started.append(label)
            raise KeyboardInterrupt

    popen = requantise_module.subprocess.Popen
    children = []

    def noted(*args: object, **options: object) -> object:
        children.append(popen(*args, **options))  # type: ignore[call-overload]
        return children[-1]

    monkeypatch.setattr(requantise_module.subprocess, "Popen", noted)
    with pytest.raises(KeyboardInterrupt):
        requantise(
            tiny_full, tmp_path / "out.gguf", Q4_0, threads=1, progress=Impatient(), total_bytes=9
        )
    assert started == ["packing as Q4_0"]
    assert children[0].returncode == -9
    assert sys.executable in children[0].args


def test_a_model_does_not_diverge_from_itself(tiny_any):
    with closing(Model(tiny_any)) as one, closing(Model(tiny_any)) as other:
        found = divergence(one, other, sample(2), threads=1, most_tokens=50)
    assert found.kl == pytest.approx(0, abs=1e-6)
    assert found.same_top == 1
    assert found.n_tokens == 100
    assert list(found.by_text) == ["english", "chinese"]


def test_kl_is_the_sum_of_p_times_log_p_over_q():
    ours = np.log(np.array([[0.5, 0.25, 0.25], [0.9, 0.05, 0.05]], np.float32)) + 3
    theirs = np.log(np.array([[0.25, 0.5, 0.25], [0.9, 0.05, 0.05]], np.float32)) - 7
    expected = 0.5 * np.log(2) + 0.25 * np.log(0.5)
    assert _kl(ours, theirs) == pytest.approx([expected, 0.0], abs=1e-6)


def test_answers_of_a_model_agree_with_themselves_and_are_counted(tiny_full):
    prompts = tuple(Prompt(raw=text) for text in ("the", "error in", "a server"))
    asked = [Question(prompts, ("yes", "no"), (0, 1, 0))]
    found = answers(tiny_full, asked, threads=1)
    assert found == answers(tiny_full, asked, threads=1)
    assert len(found[0]) == 3
    compared = agreement(asked, [[0, 1, 0]], [[0, 0, 1]])
    assert compared.same == pytest.approx(1 / 3)
    assert (compared.source_right, compared.copy_right) == (1, pytest.approx(1 / 3))


def test_the_sample_and_the_questions_are_whole():
    texts = sample()
    assert set(texts) == {"english", "chinese", "code", "json"}
    assert all(len(text) > 500 for text in texts.values())
    for question in questions():
        assert len(question.prompts) == len(question.right)
        assert set(question.right) == set(range(len(question.choices)))


def test_gains_are_medians_over_rounds_that_saw_both():
    slow = [Round(10, 10, 2, 4), Round(10, 100, 20, 40), Round(10, 10, 2, 4)]
    fast = [Round(10, 5, 1, 4), Round(10, 50, 10, 40), Round(10, 10, 2, 4)]
    gain = Gain.of(slow, fast)
    assert (gain.prefill, gain.alone, gain.together) == (2, 2, 1)
    assert slow[0].item_ms == pytest.approx(45 * 1 + 15 * 2 + 15 * 4 / WIDTH)


def test_every_probe_gets_the_same_rounds(tiny_full):
    spec = probe_spec(32, threads=1, kv_type="f16", batch_tokens=64)
    with (
        closing(Model(tiny_full)) as model,
        closing(Context(model, spec)) as one,
        closing(Context(model, spec)) as other,
    ):
        found = take_turns([Probe(one), Probe(other)], 0.01)
    assert len(found[0]) == len(found[1]) >= 3
    assert all(one.item_ms > 0 for rounds in found for one in rounds)


@pytest.mark.parametrize("kind", ["full", "recurrent"])
def test_curves_have_a_time_for_each_size_and_leave_the_cache_as_it_was(tiny_models, kind):
    spec = probe_spec(32, threads=1, kv_type="f16", batch_tokens=64)
    with closing(Model(tiny_models[kind])) as model, closing(Context(model, spec)) as context:
        found = curves_of(Probe(context), (1, 4, 32), 0.01)
        assert context.holds(0, 32)
        assert not any(context.holds(seq_id, 1) for seq_id in range(1, spec.n_seq))
    for curve in (found.tokens, found.sequences):
        assert [n for n, _ in curve.points] == [1, 4, 32]


def test_a_size_that_was_disturbed_is_looked_at_again():
    class Disturbed:
        """Takes 1 ms a token; each step of three tokens comes late, until the sixth visit."""

        def __init__(self) -> None:
            self.visits = 0

        def tokens(self, n: int, visit_s: float) -> list[float]:
            self.visits += n == 3
            return [9.0, 9.5] if n == 3 and self.visits < 6 else [float(n), n + 0.5]

        def sequences(self, n: int, visit_s: float) -> list[float]:
            return [5.0 if n == 3 else float(n)]  # always: that is how its kernels are

    found = curves_of(Disturbed(), (1, 3, 4), 1e-9)  # type: ignore[arg-type]
    assert found.tokens.points == ((1, 0.001), (3, 0.003), (4, 0.004))
    assert found.sequences.padded(3) == 4


def test_padding_is_told_where_a_larger_step_is_clearly_faster():
    curve = CostCurve(((1, 1.0), (2, 2.0), (3, 3.0), (4, 2.95), (5, 3.5), (8, 3.0)))
    assert paddings(curve) == [(5, 8)]


def test_thread_counts_go_up_to_all_processors():
    assert thread_counts(2, 2) == [1, 2]
    assert thread_counts(6, 12) == [1, 2, 4, 6, 12]


def test_rows_that_no_block_fits_and_the_sources_own_type_are_left_out(tiny_full, tmp_path):
    facts = read_facts(tiny_full)
    assert facts.embedding_length == 64
    assert [one.name for one in fitting(CANDIDATES, facts)] == [
        one.name for one in CANDIDATES if one.block == 32
    ]
    pack(tiny_full, tmp_path / "q.gguf", Q4_0)
    assert "Q4_0" not in {one.name for one in fitting(CANDIDATES, read_facts(tmp_path / "q.gguf"))}


def test_what_begins_as_another_comes_after_it():
    names = [one.name for one in CANDIDATES]
    for one in CANDIDATES:
        if one.begins_as:
            assert names.index(one.begins_as) < names.index(one.name)
    assert [one.name for one in candidates_of("Q4_0, q8_0,Q4_0")] == ["Q8_0", "Q4_0"]
