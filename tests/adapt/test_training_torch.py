"""The training itself, where the extra is installed: it learns, and what it learns is exported."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader, GGUFWriter

from vedette.adapt.architectures import as_in_gguf, base_of
from vedette.adapt.lessons import Lesson
from vedette.adapt.trainer import MODULES, NEEDED, PROGRAM, Options, factors_in, train
from vedette.engine.core import EngineCore
from vedette.engine.options import EngineOptions
from vedette.models.adapter_writer import write_adapter
from vedette.models.gguf_header import read_header
from vedette.types import Prompt, ScoreRequest

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in NEEDED), reason="the extra train is not installed"
)

TEXT = "the server failed: connection error"
RANK, ALPHA = 4, 8.0
APART = 0.02
"""Log-probabilities may differ by so much: F16 factors, and another order of sums."""
FELT = 0.1

# Random factors in the model as Transformers has it, and what it then says; no training.
LOGPROBS = """
import json, sys
import numpy as np, torch
sys.path.insert(0, sys.argv[1])
import training
job = training.Job(**json.loads(sys.argv[2]))
torch.manual_seed(1)
model = training._adapted(job).eval()
factors = {}
with torch.no_grad():
    for name, module in model.named_modules():
        if hasattr(module, "lora_A"):
            a, b = module.lora_A["default"].weight, module.lora_B["default"].weight
            a.normal_(0, a.shape[1] ** -0.5)
            b.normal_(0, 0.1)
            factors[name + ".a"], factors[name + ".b"] = a.numpy(), b.numpy()
    ids = torch.tensor([job.validation[0][0]])
    rows = torch.log_softmax(model(input_ids=ids).logits[0, -1].float(), -1)
np.savez(job.out, **factors)
np.save(job.out + ".npy", rows.numpy())
"""


def job_for(gguf: Path, out: Path, prompt: list[int]) -> str:
    return json.dumps(
        {
            "gguf": str(gguf),
            "training": [],
            "validation": [(prompt, [])],
            "modules": MODULES,
            "rank": RANK,
            "alpha": ALPHA,
            "epochs": 1,
            "batch_rows": 1,
            "learning_rate": 1.0,
            "max_seconds": 1.0,
            "threads": 1,
            "seed": 0,
            "is_bf16": False,
            "out": str(out),
        }
    )


def options() -> EngineOptions:
    return EngineOptions(cells=512, max_context_tokens=512, threads=1, kv_type="f32")


def check_export(gguf: Path, choices: tuple[str, ...], folder: Path) -> None:
    """What Transformers says under factors is what the engine says under the exported file."""
    prompt = Prompt(raw=TEXT)
    with EngineCore(gguf, options()) as engine:
        ids = engine.tokenizer.encode(prompt).ids
        firsts = [engine.tokenizer.encode_text(choice)[0] for choice in choices]
    command = [sys.executable, "-c", LOGPROBS, str(PROGRAM.parent)]
    subprocess.run([*command, job_for(gguf, folder / "f.npz", ids)], check=True)
    expected = np.load(folder / "f.npz.npy")[firsts]
    base = base_of(read_header(gguf), "base")
    file = folder / "adapter.gguf"
    factors = as_in_gguf(factors_in(folder / "f.npz"), base)
    write_adapter(file, base.architecture, factors, alpha=ALPHA)
    request = ScoreRequest(prompt=prompt, choices=choices)
    with EngineCore(gguf, options()) as engine:
        plain = engine.submit(request).result(60).logprobs
        engine.add_adapter("a", file)
        adapted = ScoreRequest(prompt=prompt, choices=choices, adapters=(("a", 1.0),))
        found = engine.submit(adapted).result(60).logprobs
    np.testing.assert_allclose(found, expected, atol=APART)
    assert np.abs(np.array(found) - plain).max() > FELT


def test_the_export_is_what_was_trained(tiny_full, tmp_path):
    check_export(tiny_full, ("error", "level", "INFO", "true", "null"), tmp_path)


def as_llama(source: Path, path: Path) -> Path:
    """The tiny qwen2 as a llama: without biases, and with rotations of neighbours."""
    reader = GGUFReader(source)
    writer = GGUFWriter(path, "llama")
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":
            key = name.replace("qwen2.", "llama.")
            writer.add_key_value(key, field.contents(), field.types[0], field.types[-1])
    for tensor in reader.tensors:
        if not tensor.name.endswith(".bias"):
            writer.add_tensor(tensor.name, tensor.data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_the_export_is_what_was_trained_for_a_llama_too(tiny_full, tmp_path):
    llama = as_llama(tiny_full, tmp_path / "llama.gguf")
    check_export(llama, ("error", "level", "INFO", "true", "null"), tmp_path)


def test_training_learns_and_the_engine_says_it(tiny_full, tmp_path):
    with EngineCore(tiny_full, options()) as engine:
        encode = engine.tokenizer.encode_text
        words = [" server", " request", " connection", " message", " level", " service"]
        lessons = [
            Lesson(
                str(i), tuple(encode(f"the{words[i % 6]} is{words[i // 6]}")), tuple(encode(said))
            )
            for i in range(36)
            for said in [("positive", "negative")[i % 2]]
        ]
    told: list[str] = []
    asked = Options(rank=RANK, epochs=8, batch_rows=4, learning_rate=0.01, seed=1)
    found = train(tiny_full, lessons[:30], lessons[30:], asked, tmp_path, told.append)
    assert len(found.factors) == 14
    assert found.best_epoch > 0
    assert not found.is_cut
    losses = [epoch.validation_loss for epoch in found.epochs]
    assert len(losses) == 9
    assert losses[found.best_epoch] == min(losses) < losses[0] / 4
    assert {"torch", "transformers", "peft"} == set(found.versions)
    assert told[-1].startswith("epoch 8: training loss")
    base = base_of(read_header(tiny_full), "base")
    file = tmp_path / "adapter.gguf"
    write_adapter(file, base.architecture, as_in_gguf(found.factors, base), alpha=asked.alpha)
    with EngineCore(tiny_full, options()) as engine:
        engine.add_adapter("a", file)
        for i, said in enumerate(("positive", "negative")):
            prompt = Prompt(raw=f"the{words[i]} is{words[2]}")
            request = ScoreRequest(
                prompt=prompt, choices=("positive", "negative"), adapters=(("a", 1.0),)
            )
            scores = engine.submit(request).result(60)
            assert max(zip(scores.logprobs, scores.choices, strict=True))[1] == said


def test_the_time_ends_it_and_that_is_told(tiny_full, tmp_path):
    lessons = [Lesson(str(i), (i + 1, i + 2), (i + 3,)) for i in range(20)]
    asked = Options(rank=RANK, epochs=5000, max_minutes=0.01)
    found = train(tiny_full, lessons[:16], lessons[16:], asked, tmp_path, lambda line: None)
    assert found.is_cut
    assert 1 < len(found.epochs) < 5000
