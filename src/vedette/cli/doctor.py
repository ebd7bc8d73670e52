"""`vedette doctor`: this machine, what is installed on it, and what to expect of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from vedette.cli.console import complain, note, print_json, print_table
from vedette.errors import InputError

if TYPE_CHECKING:
    from vedette.doctor.report import Examination, Findings
    from vedette.doctor.timings import Measurement, Pace
    from vedette.models.catalogue import Listed

MOST_SECONDS = 3600


def doctor(
    *,
    model: str | None = None,
    seconds: float = 10.0,
    threads: int | None = None,
    json: bool = False,
) -> int:
    """Look at this machine and measure for ten seconds what to expect of it. Fetches nothing.

    Parameters
    ----------
    model
        Name, hf:user/repo:QUANT or path of the weights to measure.
    seconds
        How long to measure, the loading not counted; 0 leaves it out.
    threads
        CPU threads.
    json
        One JSON object, for machines.
    """
    from vedette.config import load
    from vedette.doctor.report import examine, look

    if not (math.isfinite(seconds) and 0 <= seconds <= MOST_SECONDS):
        raise InputError(f"--seconds must be from 0 to {MOST_SECONDS}, not {seconds:g}")
    settings = load(model=model, threads=threads)
    findings = look(settings)
    if not json:
        print_table(("what", "is"), list(_rows(findings)))
        for text in findings.warnings:
            print(f"\nWarning: {text}")
        for error in findings.problems:
            print(f"\nProblem: {error}")
    if not json and seconds:
        note(f"measuring {settings.model} for about {seconds:g} s, after loading it")
    examination = examine(findings, settings, seconds=seconds)
    if json:
        print_json(examination.as_dict())
    else:
        _print_measured(examination)
    if examination.problem is None:
        return 0
    if model is not None:
        complain(examination.problem.message, examination.problem.hint)
        return 2
    if not json:
        print(f"\nNot measured: {examination.problem}")
    return 0


def _print_measured(examination: Examination) -> None:
    if examination.measurement is None or examination.verdict is None:
        return
    print()
    print_table(
        ("measured", "tokens/s", "ms a step", "varied by", "repeats"),
        list(_paces(examination.measurement)),
        title=f"{examination.model}: {_printable(examination.measurement.description)}, "
        f"{examination.measurement.threads} threads, "
        f"loaded in {examination.measurement.load_s:.1f} s",
        right=("tokens/s", "ms a step", "varied by", "repeats"),
    )
    print()
    for sentence in examination.verdict.sentences:
        print(sentence)


def _paces(measured: Measurement) -> Iterator[tuple[str, ...]]:
    yield f"prompt of {measured.prompt_tokens} tokens", *_numbers(measured.prefill)
    for pace in measured.decode:
        sequences = "1 sequence" if pace.tokens == 1 else f"{pace.tokens} sequences"
        yield f"decoding {sequences}", *_numbers(pace)


def _numbers(pace: Pace) -> tuple[str, ...]:
    return (
        f"{pace.tokens_per_s:.0f}" if pace.tokens_per_s >= 10 else f"{pace.tokens_per_s:.2g}",
        f"{pace.step_ms:.1f}",
        f"{pace.spread:.0%}",
        str(pace.repeats),
    )


def _rows(findings: Findings) -> Iterator[tuple[str, str]]:
    from vedette.models.units import human_bytes

    machine, cpu = findings.machine, findings.machine.cpu
    yield "system", machine.system
    yield "CPU", _printable(cpu.name)
    quota = f", {cpu.quota_cpus:g} CPUs' time granted" if cpu.quota_cpus else ""
    load = f", load {machine.load:.1f}" if machine.load is not None else ""
    yield "usable cores", f"{cpu.usable_cores} physical, of {cpu.cpus} CPUs{quota}{load}"
    flags = "the system does not say" if cpu.flags is None else " ".join(cpu.flags) or "none"
    yield "CPU features", flags
    if findings.build is not None:
        yield "llama.cpp uses", " ".join(findings.build.features) or "it does not say"
        yield "llama.cpp build", _build_words(findings)
        yield "computes on", " ".join(findings.build.backends) or "it does not say"
    if machine.memory is None:
        yield "memory", "the system does not say"
    else:
        available, total = machine.memory.available_bytes, machine.memory.total_bytes
        yield "memory", f"{human_bytes(available)} of {human_bytes(total)} available"
    free = machine.disk_free_bytes
    free_words = "free space unknown" if free is None else f"{human_bytes(free)} free"
    yield "cache folder", f"{machine.cache_folder} ({free_words})"
    yield "versions", ", ".join(f"{name} {version}" for name, version in findings.versions.items())
    yield "models here", _models_words(findings.models)
    yield "configuration", str(findings.config_file or "no vedette.toml here")
    for each in findings.settings:
        if each.origin.kind != "default":
            yield f"  {each.name}", f"{_value_words(each.value)} ({each.origin})"


def _build_words(findings: Findings) -> str:
    assert findings.build is not None
    return {
        "native": "native: uses all that the CPU has",
        "generic": "generic: leaves lying " + " ".join(findings.build.unused),
        "foreign": "made for another CPU: needs " + " ".join(findings.build.missing),
        "unknown": "cannot be told",
    }[findings.build.kind]


def _models_words(models: tuple[Listed, ...]) -> str:
    from vedette.models.units import human_bytes

    here = [f"{row.name} ({human_bytes(row.size_bytes)})" for row in models if row.path is not None]
    return ", ".join(here) or "none; `vedette models` lists those that can be pulled"


def _value_words(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "auto" if value is None else str(value)


def _printable(text: str) -> str:
    """A file or a system may say anything; what would move the cursor becomes a space."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
