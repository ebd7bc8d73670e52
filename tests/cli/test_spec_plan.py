"""`vedette spec plan` from end to end: a table, JSON, a command, and one sentence for bad input."""

from __future__ import annotations

import json

import pytest

from vedette.cli.main import run

GPU = ("--gpu", "RTX 3090")


@pytest.fixture
def plan(tiny_full, capfd):
    def call(*tokens: str) -> tuple[int, str, str]:
        code = run(["spec", "plan", str(tiny_full), *tokens])
        return code, *capfd.readouterr()

    return call


def test_a_described_machine_needs_no_measurement(plan, tiny_full):
    code, out, err = plan("--draft", str(tiny_full), *GPU)
    assert (code, err) == (0, "")
    for words in ("ngram-simple", "draft-simple", "none", "target weights", "Verdict: ", "Why: "):
        assert words in out
    assert "not draft-mtp: the target has no prediction head" in out
    assert out.strip().splitlines()[-1].startswith(f"llama-server -m {tiny_full} -c 4096")


def test_json_has_the_same(plan, tiny_full):
    code, out, _ = plan("--draft", str(tiny_full), *GPU, "--json", "--parallel", "2")
    found = json.loads(out)
    assert code == 0
    assert found["setup"]["sequences"] == 2
    assert {each["method"] for each in found["candidates"]} == {"draft-simple", "ngram-simple"}
    assert found["verdict"]["why"]
    cache = sum(layer["cache_bytes"] for layer in found["target_layers"])
    parts = {part["name"]: part for part in found["plain"]["parts"]}
    assert parts["target cache"]["gpu_bytes"] == cache > 0
    assert found["command"].startswith("llama-server")
    for each in found["candidates"]:
        assert each["gpu_bytes"] == sum(part["gpu_bytes"] for part in each["parts"])
        assert each["speedup"]["low"] <= each["speedup"]["likely"] <= each["speedup"]["high"]


def test_without_a_description_this_machine_is_measured(plan, tiny_full):
    code, out, err = plan("--draft", str(tiny_full), "--seconds", "0.2", "--threads", "1")
    assert code == 0
    assert "measuring" in err
    assert "measured here on 1 threads" in out
    assert "-ngl" not in out


def test_a_cpu_alone_has_no_gpu_columns(plan):
    code, out, _ = plan("--cpu", "Ryzen 7950X")
    assert code == 0
    assert "GPU" not in out
    assert "-ngl" not in out


def test_a_context_beyond_the_label_is_pointed_out(plan):
    _, out, _ = plan(*GPU, "--context", "5000")
    assert "more than the 4096 tokens of the target's label" in out


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        (("--gpu", "RTX 3099"), "did you mean RTX 3090?"),
        (("--vram", "8GB"), "name it with --gpu"),
        (("--gpu", "M3"), "shares the machine's memory"),
        (("--cpu", "Z80"), "not in the hardware table"),
        (("--cpu-bandwidth", "40GB/s"), "--cpu-cores"),
        (("--cpu", "Ryzen 7950X", "--cpu-cores", "0"), "--cpu-cores must be at least 1"),
        ((*GPU, "--kv-type", "q9"), "cannot be kept in 'q9'"),
        ((*GPU, "--copied", "2"), "from 0 to 1"),
        ((*GPU, "--acceptance", "0.5"), "--acceptance is that of a draft or a prediction head"),
        ((*GPU, "--draft-kv-type", "q8_0"), "--draft-kv-type is that of a draft"),
        ((*GPU, "--context", "0"), "context_tokens must be at least 1, not 0"),
        ((*GPU, "--longest", "0"), "from 1 to 256 tokens, not 0"),
        ((*GPU, "--longest", "100000"), "from 1 to 256 tokens, not 100000"),
        ((*GPU, "--bandwidth", "0GB/s"), "--bandwidth '0GB/s' is not a bandwidth"),
        ((*GPU, "--seconds", "3"), "--seconds and --threads are for measuring this machine"),
        (("--cpu", "Ryzen 7950X", "--threads", "3"), "--seconds and --threads are for measuring"),
        ((*GPU, "--vram", "much"), "not a size"),
        ((*GPU, "--build", "nowhere"), "there is no file nowhere"),
        ((*GPU, "--mmproj", "nowhere.gguf"), "cannot read nowhere.gguf"),
        ((*GPU, "--draft", "nonesuch"), "no model is called 'nonesuch'"),
        (("--seconds", "0"), "--seconds must be above 0"),
        (("--cpu", "Ryzen 7950X", "--ram", "100kB"), "of the machine's memory"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(plan, tokens, says):
    code, out, err = plan(*tokens)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        (("--acceptance", "nan"), "acceptance"),
        (("--draft-kv-type", "q9"), "cannot be kept in 'q9'"),
    ],
)
def test_bad_figures_of_a_draft_are_one_sentence(plan, tiny_full, tokens, says):
    code, out, err = plan("--draft", str(tiny_full), *GPU, *tokens)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
