"""The example's adapter is one that goes with its model."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from vedette.backends.local import LocalBackend
from vedette.engine.options import EngineOptions
from vedette.types import EmbedRequest, Prompt

EXAMPLE = Path(__file__).parents[2] / "examples" / "random_adapter.py"


def test_it_loads_and_changes_what_the_model_says(tiny_full, tmp_path):
    spec = importlib.util.spec_from_file_location("random_adapter", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.write_random_adapter(str(tiny_full), tmp_path / "wild.gguf", seed=1)
    backend = LocalBackend(tiny_full, EngineOptions(threads=1))
    try:
        backend.add_adapter("wild", tmp_path / "wild.gguf")
        plain, wild = (
            backend.submit(EmbedRequest(prompt=Prompt(raw="the"), adapters=adapters)).result(30)
            for adapters in ((), (("wild", 1.0),))
        )
        assert max(abs(a - b) for a, b in zip(plain.vector, wild.vector, strict=True)) > 0.1
    finally:
        backend.close()


@pytest.mark.parametrize(
    ("arguments", "said"), [([], "usage: "), (["nope", "x.gguf"], "no model is called 'nope'")]
)
def test_what_it_cannot_do_is_one_line(arguments, said):
    command = [sys.executable, str(EXAMPLE), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1
