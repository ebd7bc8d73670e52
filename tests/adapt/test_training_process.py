"""The training's process from outside: what it tells, how it ends, what is missing."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from vedette.adapt import trainer
from vedette.adapt.trainer import NEEDED, Options, check_extra, events_of, factors_in
from vedette.errors import CapabilityMissing, EngineFailed, InputError


def events(program: str, folder):
    return events_of([sys.executable, "-c", program], folder, Options(threads=3))


def test_events_come_as_they_are_told(tmp_path):
    program = (
        "import json, os\n"
        "print(json.dumps({'event': 'a', 'threads': os.environ['OMP_NUM_THREADS']}))\n"
        "print(json.dumps({'event': 'b', 'offline': os.environ['HF_HUB_OFFLINE']}))"
    )
    found = [*events(program, tmp_path)]
    assert found == [{"event": "a", "threads": "3"}, {"event": "b", "offline": "1"}]


def test_the_last_line_of_a_failure_is_told(tmp_path):
    with pytest.raises(EngineFailed, match="did not come to its end: ArithmeticError: the loss"):
        [*events("raise ArithmeticError('the loss is nan')", tmp_path)]
    with pytest.raises(EngineFailed, match="it ended with code 3"):
        [*events("raise SystemExit(3)", tmp_path)]
    with pytest.raises(EngineFailed, match="for want of memory"):
        [*events("import os; os.kill(os.getpid(), 9)", tmp_path)]


def test_it_ends_with_the_one_who_listens(tmp_path):
    program = (
        "import os, time\n"
        'print(\'{"event": "x", "pid": %d}\' % os.getpid(), flush=True)\n'
        "time.sleep(60)"
    )
    started = time.monotonic()
    listening = events(program, tmp_path)
    pid = next(listening)["pid"]
    listening.close()
    assert not psutil.pid_exists(pid)
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_package_is_named_with_the_extra(monkeypatch, name):
    monkeypatch.setattr(trainer, "find_spec", lambda each: None if each == name else object())
    with pytest.raises(CapabilityMissing, match=f"training needs {name}") as caught:
        check_extra()
    assert caught.value.hint == "install it with: pip install 'vedette[train]'"


def test_factors_are_paired_by_module(tmp_path):
    a, b = np.ones((2, 3), np.float32), np.zeros((4, 2), np.float32)
    np.savez(
        tmp_path / "f.npz", **{"model.layers.0.mlp.up_proj.a": a, "model.layers.0.mlp.up_proj.b": b}
    )
    ((name, (found_a, found_b)),) = factors_in(tmp_path / "f.npz").items()
    assert name == "model.layers.0.mlp.up_proj"
    np.testing.assert_array_equal(found_a, a)
    np.testing.assert_array_equal(found_b, b)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"epochs": 0}, "epochs must be over 0"),
        ({"max_minutes": -1.0}, "max-minutes must be over 0"),
        ({"learning_rate": float("nan")}, "learning-rate must be over 0"),
        ({"length_tokens": 1}, "length-tokens is 1"),
    ],
)
def test_options_that_cannot_be_are_refused(option, words):
    with pytest.raises(InputError, match=words):
        Options(**option)


def test_training_is_not_loaded_by_anything_else():
    program = (
        "import sys, vedette.cli.adapt, vedette.adapt.run\n"
        "print([name for name in ('torch', 'transformers', 'peft') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
