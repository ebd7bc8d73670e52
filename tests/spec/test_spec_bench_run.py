"""Who is asked what and when; what is left after a stop; what the report makes of it."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from scripted_side import PROMPTS, ScriptedSide, sample_of

from vedette.errors import FileError, InputError
from vedette.spec.bench.html import page
from vedette.spec.bench.kept import Kept
from vedette.spec.bench.prompts import WARM_UP
from vedette.spec.bench.report import report_of
from vedette.spec.bench.run import measure
from vedette.spec.bench.side import Gap, Variant

NAMES = ("plain", "other")


def test_every_variant_answers_every_prompt_once_after_a_warm_up():
    side = ScriptedSide()
    run = measure(side, PROMPTS)
    assert side.asked[:2] == [("plain", WARM_UP.id), ("other", WARM_UP.id)]
    assert Counter(side.asked[2:]) == Counter((n, p.id) for p in PROMPTS for n in NAMES)
    assert run.prompts == list(PROMPTS)
    assert run.why_ended == ""
    assert WARM_UP.id not in {prompt for _, prompt in run.samples}


def test_the_variants_of_a_prompt_follow_each_other_in_an_order_of_chance():
    side = ScriptedSide()
    measure(side, PROMPTS, seed=4)
    turns = [side.asked[i : i + 2] for i in range(2, len(side.asked), 2)]
    assert all(a[1] == b[1] for a, b in turns)
    assert {tuple(name for name, _ in turn) for turn in turns} == {NAMES, NAMES[::-1]}
    again = ScriptedSide()
    measure(again, PROMPTS, seed=4)
    assert again.asked == side.asked


def test_a_side_that_cannot_hold_all_variants_is_asked_in_blocks():
    side = ScriptedSide(block=4)
    measure(side, PROMPTS)
    first = [name for name, _ in side.asked[2:10]]
    assert first in (["plain"] * 4 + ["other"] * 4, ["other"] * 4 + ["plain"] * 4)


def test_no_prompt_is_begun_that_would_not_be_done_in_time():
    side = ScriptedSide()
    run = measure(side, PROMPTS, seconds=11, clock=side.clock)
    assert side.now <= 11
    assert len(run.prompts) == 4  # two seconds each, after two of warming up
    assert run.why_ended == "11 seconds were up"
    assert not run.is_interrupted


def test_an_interrupt_leaves_what_is_complete():
    side = ScriptedSide(interrupt_after=7)  # in the middle of the third prompt
    run = measure(side, PROMPTS)
    assert run.prompts == list(PROMPTS[:2])
    report = report_of(side, run)
    assert report.is_interrupted
    assert report.n_prompts == 2
    assert report.as_dict()["complete"] is False


def test_an_interrupt_before_anything_is_complete_leaves_a_report_without_figures():
    side = ScriptedSide(interrupt_after=1)
    report = report_of(side, measure(side, PROMPTS))
    assert (report.comparisons, report.n_prompts) == ((), 0)
    assert "it was interrupted" in page(report)


def test_figures_that_are_kept_are_not_measured_again(tmp_path):
    path = str(tmp_path / "runs.jsonl")
    first = ScriptedSide(interrupt_after=7)
    measure(first, PROMPTS, kept=Kept(path, first.identity))
    second = ScriptedSide()
    run = measure(second, PROMPTS, kept=Kept(path, second.identity))
    assert run.prompts == list(PROMPTS)
    done = {PROMPTS[0].id, PROMPTS[1].id}
    assert not done & {prompt for _, prompt in second.asked}
    # The one that was interrupted is asked of both again: times far apart are not compared.
    assert {name for name, prompt in second.asked if prompt == PROMPTS[2].id} == set(NAMES)


def test_a_line_that_was_cut_short_is_measured_again_and_any_other_damage_is_told(tmp_path):
    path = tmp_path / "runs.jsonl"
    side = ScriptedSide()
    measure(side, PROMPTS[:2], kept=Kept(str(path), side.identity))
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    kept = Kept(str(path), side.identity)
    assert len(kept.samples) == 3
    (missing,) = {(n, p) for n in NAMES for p in PROMPTS[:2] if (n, p.id) not in kept.samples}
    kept.add(sample_of(*missing))
    assert len(Kept(str(path), side.identity).samples) == 4
    path.write_bytes(whole.replace(b'{"variant"', b'{"variant', 1))
    with pytest.raises(FileError, match="line 2 is no sample"):
        Kept(str(path), side.identity)


def test_figures_of_another_model_are_refused(tmp_path):
    path = str(tmp_path / "runs.jsonl")
    Kept(path, {"model": "a"})
    with pytest.raises(InputError, match=r'"a".*not with.*"b"'):
        Kept(path, {"model": "b"})


def test_the_report_tells_speed_acceptance_and_verdict():
    def answer(variant, prompt):
        is_fast = variant.name == "other" and prompt.workload == "copy"
        return sample_of(
            variant.name,
            prompt,
            seconds=0.5 if is_fast else 1.0,
            steps=5 if is_fast else 10,
            guessed=8 if is_fast else 0,
            right=4 if is_fast else 0,
            positions=((5, 3), (3, 1)) if is_fast else (),
        )

    side = ScriptedSide(answer=answer)
    report = report_of(side, measure(side, PROMPTS))
    copy, prose = report.of("other", "copy"), report.of("other", "prose")
    assert copy.verdict == "faster: 2.00 times the speed (2.00 to 2.00)"
    assert copy.acceptance == pytest.approx(0.5)
    assert copy.tokens_per_step == pytest.approx(2.0)
    assert copy.positions == ((30, 18), (18, 6))
    assert prose.verdict.startswith("no difference")
    assert prose.acceptance is None
    assert report.of("other").writing.ratio == pytest.approx(2**0.5)
    assert copy.whole.ratio == pytest.approx(1.5)  # half a second of each request is the prompt's
    assert report.of("plain").verdict == "baseline"
    body = json.loads(json.dumps(report.as_dict()))
    assert {row["workload"] for row in body["comparisons"]} == {"copy", "prose", "overall"}
    assert body["divergences"] == []


def test_a_draft_that_never_guesses_is_found_with_the_first_answer():
    said: list[str] = []
    side = ScriptedSide(
        variants=(Variant("plain", ""), Variant("draft", "-md d.gguf", "draft")), interrupt_after=2
    )
    run = measure(side, PROMPTS, say=said.append)
    assert "add --spec-type draft-simple" in run.no_ops["draft"]
    assert said == [f"draft: {run.no_ops['draft']}"]


def test_ngrams_that_find_nothing_in_one_answer_may_still_find_something():
    variants = (Variant("plain", ""), Variant("ngram", "--spec-type ngram-mod", "ngram"))
    silent = ScriptedSide(variants=variants)
    assert "in 12 answers nothing was guessed" in measure(silent, PROMPTS).no_ops["ngram"]

    def answer(variant, prompt):
        return sample_of(variant.name, prompt, guessed=int(prompt.id == "copy-3"))

    assert measure(ScriptedSide(variants=variants, answer=answer), PROMPTS).no_ops == {}


def test_answers_that_part_are_told_with_their_gap():
    def answer(variant, prompt):
        other = variant.name == "other" and prompt.id == "prose-2"
        return sample_of(variant.name, prompt, text="prose 2, or not" if other else prompt.text)

    side = ScriptedSide(answer=answer)
    report = report_of(side, measure(side, PROMPTS))
    (parted,) = report.divergences
    assert (parted.variant, parted.prompt, parted.n_same_tokens) == ("other", "prose-2", 3)
    assert "rounding decided" in parted.words
    side.gap = lambda *_: Gap(3, 0.3)  # type: ignore[method-assign]
    report = report_of(side, measure(side, PROMPTS))
    assert "wide for rounding" in report.divergences[0].words
    side.gap = lambda *_: Gap(3, 4.1)  # type: ignore[method-assign]
    report = report_of(side, measure(side, PROMPTS))
    assert "more than rounding explains" in report.divergences[0].words


def test_the_page_shows_it_all_and_loads_nothing():
    def answer(variant, prompt):
        text = "<b>else</b>" if variant.name == "other" else prompt.text
        return sample_of(variant.name, prompt, guessed=4, positions=((4, 2), (2, 0)), text=text)

    side = ScriptedSide(answer=answer)
    text = page(report_of(side, measure(side, PROMPTS)))
    for shown in ("overall: other", "no difference", "&lt;b&gt;else", "Right guesses by place"):
        assert shown in text
    assert "http" not in text
    assert "<script" not in text


@pytest.mark.parametrize("content", [b"\xff\x97\n", b"services:\n"])
def test_a_file_that_is_no_run_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(InputError, match="something else than figures of a run"):
        Kept(str(path), {"model": "a"})
    assert path.read_bytes() == content
