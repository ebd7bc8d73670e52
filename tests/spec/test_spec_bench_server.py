"""Variants of a llama-server: what is asked of them, what is counted, and that all of them end."""

from __future__ import annotations

import psutil
import pytest
from fake_spec_server import write_fake

from vedette.backends.find_server import find_server
from vedette.backends.server_process import ServerOptions
from vedette.backends.server_program import options_of
from vedette.errors import CapabilityMissing, EngineFailed, FileError, InputError
from vedette.models.locate import locate
from vedette.spec.bench.cost_curve import measure_costs
from vedette.spec.bench.prompts import WARM_UP, bundled_prompts, choose
from vedette.spec.bench.report import report_of
from vedette.spec.bench.run import measure
from vedette.spec.bench.server_api import Counters
from vedette.spec.bench.server_flags import asked_of, parse_variants
from vedette.spec.bench.server_side import ServerSide

MODEL = "smollm2-135m"
OPTIONS = ServerOptions(threads=1, slot_tokens=2048, cpu_only=True, start_timeout_s=60)
PROMPTS = choose(bundled_prompts(), 3)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    return path


@pytest.fixture
def open_side(tmp_path, model):
    opened: list[ServerSide] = []

    def open_side(*variants: str, mode: str = "ok", at_once: int | None = None) -> ServerSide:
        program = write_fake(tmp_path, mode)
        texts = [text.replace("MODEL", str(model)) for text in variants]
        made = parse_variants(texts)
        opened.append(ServerSide(program, model, made, OPTIONS, max_tokens=12, at_once=at_once))
        return opened[-1]

    yield open_side
    for side in opened:
        side.close()


DRAFT = "draft: -md MODEL --spec-type draft-simple --spec-draft-n-max 4"


def children():
    return [p for p in psutil.Process().children(recursive=True) if p.status() != "zombie"]


# --- reading variants --------------------------------------------------------------------------


def test_a_variant_is_a_name_and_options():
    plain, draft = parse_variants(["plain", "d 2:--spec-type ngram-mod -ctk 'q8_0'"])
    assert (plain.name, plain.how, plain.asked) == ("plain", "", "")
    assert (draft.name, draft.how, draft.asked) == (
        "d 2",
        "--spec-type ngram-mod -ctk q8_0",
        "ngram",
    )


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["plain"], "needs two variants"),
        (["plain", "-md x"], "has no name"),
        (["plain", ": -md x"], "has no name"),
        (["a", "a: --x"], "two variants have the name 'a'"),
        (["a", "b: --x 'y"], "options of variant 'b' cannot be read"),
        (["a", "b: --port 80"], "--port, which is the same for all"),
        (["a", "b: -md nowhere.gguf"], "there is no draft nowhere.gguf"),
    ],
)
def test_variants_that_cannot_be_are_told(texts, message):
    with pytest.raises(InputError, match=message):
        parse_variants(texts)


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("", ""),
        ("-md x", "draft"),
        ("--spec-type draft-mtp", "draft"),
        ("-hfd a/b --spec-type none", "draft"),
        ("--spec-type none", ""),
        ("--spec-type ngram-mod,ngram-cache", "ngram"),
        ("--spec-type ngram-mod,draft-simple -md x", "draft"),
        ("--spec-default", "ngram"),
    ],
)
def test_who_is_to_guess_is_seen_in_the_options(words, asked):
    assert asked_of(words.split()) == asked


def test_counters_are_read_from_the_metrics_page():
    page = (
        "# HELP llamacpp:spec_decode_num_drafts_total Drafts\n"
        "llamacpp:spec_decode_num_draft_tokens_total 29\n"
        "llamacpp:spec_decode_num_drafts_total 8\n"
        'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="1"} 3\n'
        'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 6\n'
    )
    counters = Counters.of(page)
    assert counters == Counters(8, (6, 3))
    assert counters.since(Counters()) == ((8, 6), (6, 3))
    assert counters.since(Counters(4, (3,))) == ((4, 3), (3, 3))
    assert counters.since(counters) == ()
    assert Counters.of("llamacpp:n_decode_total 3\n").since(Counters()) == ()


# --- measuring ---------------------------------------------------------------------------------


def test_both_are_asked_the_same_and_only_once(open_side):
    side = open_side("plain", DRAFT)
    report = report_of(side, measure(side, PROMPTS))
    draft = report.of("draft")
    # In each step 2 of the tokens are written, and it takes 20 + 4 * 5 + 4 * 4 + 2 ms.
    assert draft.speed == pytest.approx(2 / 0.058)
    assert report.of("plain").speed == pytest.approx(50)
    assert draft.writing.ratio == pytest.approx(2 / 0.058 / 50)
    assert draft.writing.kind == "slower"
    assert draft.tokens_per_step == pytest.approx(2)
    assert draft.positions[:2] == (
        (draft.guessed // 4, draft.guessed // 4),
        (draft.guessed // 4, 0),
    )
    assert report.divergences == ()
    for running in side._running.values():
        asked = running.api._ask("GET", "/seen", None)
        prompts = [body["prompt"] for body in asked["asked"]]
        assert len(prompts) == len(set(prompts)) == len(PROMPTS) + 1
        assert all(body["cache_prompt"] is False for body in asked["asked"])
        assert "--metrics" in asked["arguments"]


def test_all_servers_end_with_the_side_and_few_run_at_once_where_asked(open_side):
    before = len(children())
    side = open_side("plain", DRAFT, at_once=1)
    assert side.block > 1
    run = measure(side, PROMPTS)
    assert len(side._running) == 1
    assert len(run.prompts) == len(PROMPTS)
    assert len(children()) > before
    side.close()
    assert len(children()) == before


def test_a_draft_without_its_type_is_found_in_one_request(open_side):
    side = open_side("plain", "draft: -md MODEL")
    said: list[str] = []
    run = measure(side, PROMPTS[:1], say=said.append)
    assert "a draft is loaded, and in one answer nothing was guessed" in said[0]
    assert "--spec-type" in run.no_ops["draft"]


def test_a_draft_that_guesses_nothing_for_another_reason_is_found_too(open_side):
    run = measure(open_side("plain", DRAFT, mode="silent"), PROMPTS[:1])
    assert run.no_ops["draft"] == "a draft is loaded, and in one answer nothing was guessed"


def test_the_gap_is_that_of_the_baseline_at_the_first_other_token(open_side):
    side = open_side("plain", DRAFT, mode="differs")
    report = report_of(side, measure(side, PROMPTS[:1]))
    (parted,) = report.divergences
    assert parted.n_same_tokens == 5
    assert parted.logit_gap == pytest.approx(0.03)
    asked = side._running["plain"].api._ask("GET", "/seen", None)["asked"][-1]
    assert (asked["n_predict"], asked["n_probs"]) == (1, 2)
    assert len(asked["prompt"]) > 5


def test_options_that_a_server_refuses_are_told_with_its_log(open_side):
    with pytest.raises(EngineFailed, match="invalid argument: --wrong"):
        measure(open_side("plain", "bad: --wrong"), PROMPTS)


def test_a_server_that_dies_is_told(open_side):
    stories = [prompt for prompt in bundled_prompts() if "story" in prompt.text]
    with pytest.raises(EngineFailed, match="exit code 7"):
        measure(open_side("plain", DRAFT, mode="dies"), stories)


def test_none_at_once_is_refused(open_side):
    with pytest.raises(InputError, match="--at-once is 0"):
        open_side("plain", DRAFT, at_once=0)


# --- the cost of a step ------------------------------------------------------------------------


def test_the_curve_is_fitted_from_steps_whose_guesses_are_all_refused(tmp_path, model):
    said: list[str] = []
    costs = measure_costs(
        write_fake(tmp_path), model, str(model), 3, PROMPTS[:2], OPTIONS, max_tokens=12,
        say=said.append,
    )  # fmt: skip
    assert costs.plain_s == pytest.approx(0.020)
    assert costs.with_ngram_s == pytest.approx({1: 0.025, 2: 0.030, 3: 0.035})
    assert costs.with_draft_s == pytest.approx({1: 0.031, 2: 0.040, 3: 0.049})
    assert costs.draft_s == pytest.approx(0.004)
    assert costs.fixed_s == pytest.approx(0.002)
    assert costs.break_even(2) == pytest.approx(1.0)
    assert costs.as_dict()["v"] == {"2": 1.25, "3": 1.5, "4": 1.75}
    assert len(said) == 7


def test_a_build_without_made_up_acceptance_is_told(tmp_path, model):
    with pytest.raises(CapabilityMissing, match="has no --spec-synth-rates"):
        measure_costs(
            write_fake(tmp_path, "old"), model, None, 3, PROMPTS, OPTIONS, max_tokens=12, say=print
        )


@pytest.mark.parametrize("most", [0, 32])
def test_a_curve_has_a_sensible_end(tmp_path, model, most):
    with pytest.raises(InputError, match=f"--cost-curve is {most}"):
        measure_costs(
            write_fake(tmp_path), model, None, most, PROMPTS, OPTIONS, max_tokens=12, say=print
        )


# --- a real one --------------------------------------------------------------------------------


@pytest.mark.model
def test_a_real_llama_server_that_ignores_its_draft_is_found_in_one_request():
    try:
        program = find_server()
        known = options_of(program)
    except (FileError, EngineFailed) as reason:
        pytest.skip(str(reason))
    if "--spec-type" not in known:
        pytest.skip(f"{program} has no --spec-type")
    texts = [
        "plain",
        f"ignored: -md {MODEL}",
        f"draft: -md {MODEL} --spec-type draft-simple --spec-draft-n-max 2",
    ]
    weights = locate(MODEL).path
    side = ServerSide(program, weights, parse_variants(texts), OPTIONS, max_tokens=12)
    try:
        plain, ignored, draft = (side.ask(variant, WARM_UP) for variant in side.variants)
        run = measure(side, PROMPTS[:1])
    finally:
        side.close()
    assert (plain.guessed, ignored.guessed) == (0, 0)
    assert draft.guessed > 0
    assert draft.positions
    assert run.no_ops.keys() == {"ignored"}
