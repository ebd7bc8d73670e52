"""Whose CPU time a stopwatch counts to whom, on a machine whose counters are given."""

from __future__ import annotations

import subprocess
import sys
from collections import namedtuple

import psutil
import pytest

from vedette.bench import stopwatch
from vedette.bench.stopwatch import Stopwatch

Times = namedtuple("Times", "user nice system idle iowait irq softirq steal guest guest_nice")


@pytest.fixture
def machine(monkeypatch):
    """Sets the machine's busy seconds; all else is idle."""

    def set_busy(user: float, steal: float = 0.0, guest: float = 0.0) -> None:
        times = Times(user, 0, 0, 1000 - user, 50, 0, 0, steal, guest, 0)
        monkeypatch.setattr(psutil, "cpu_times", lambda: times)

    return set_busy


def test_what_others_took_is_the_rest_and_includes_stolen_time(machine, monkeypatch):
    monkeypatch.setattr(stopwatch.time, "process_time", iter([1.0, 3.0]).__next__)
    machine(100, steal=1, guest=5)
    watch = Stopwatch()
    machine(109, steal=2, guest=9)
    elapsed = watch.stop()
    assert elapsed.own_cpu_s == 2
    assert elapsed.others_cpu_s == 8  # 9 busy and 1 stolen, 2 of them ours


def test_coarse_counters_never_make_it_negative(machine, monkeypatch):
    monkeypatch.setattr(stopwatch.time, "process_time", iter([1.0, 3.0]).__next__)
    machine(100)
    watch = Stopwatch()
    machine(101)
    assert watch.stop().others_cpu_s == pytest.approx(0, abs=1e-9)


def test_the_peer_and_its_children_are_no_others(machine, monkeypatch):
    monkeypatch.setattr(stopwatch.time, "process_time", lambda: 1.0)
    work = "sum(range(10_000_000)); print(1, flush=True); input()"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", child], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as peer:
        machine(100)
        watch = Stopwatch(peer.pid)
        assert peer.stdout is not None
        assert peer.stdout.readline() == b"1\n"
        (worker,) = psutil.Process(peer.pid).children()
        worked_s = worker.cpu_times().user
        assert worked_s > 0
        machine(100 + worked_s)
        assert watch.stop().others_cpu_s == pytest.approx(0, abs=1e-9)
        peer.communicate(b"\n")
