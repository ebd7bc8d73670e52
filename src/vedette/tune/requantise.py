"""Weights packed anew in a child process: whatever happens there, this one goes on."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from vedette.errors import EngineFailed
from vedette.models.ggml_types import GGML_TYPES
from vedette.models.gguf_header import read_header
from vedette.models.progress import Meter, Progress

from .candidates import Candidate

POLL_S = 0.1
_MODULE = "vedette.engine.llama.quantise"
_TYPES = {each.name: each for each in GGML_TYPES.values()}


def expected_bytes(source: Path, candidate: Candidate) -> int:
    """About how large the packed file becomes: its metadata, and its matrices in the new type."""
    header = read_header(source)
    size_bytes = header.size_bytes - sum(tensor.size_bytes for tensor in header.tensors)
    for tensor in header.tensors:
        is_matrix = sum(length > 1 for length in tensor.shape) > 1
        packing = _TYPES[candidate.type_of(tensor.name)] if is_matrix else tensor.type
        size_bytes += packing.bytes_for(tensor.n_values)
    return size_bytes


def requantise(
    source: Path,
    target: Path,
    candidate: Candidate,
    *,
    threads: int,
    progress: Progress,
    total_bytes: int,
) -> None:
    """Write the candidate's file. Raises `EngineFailed` with llama.cpp's reason.

    The child ends with this call, however it ends; the caller removes what it left.
    """
    arguments = [str(source), str(target), candidate.file_type, candidate.head, str(threads)]
    meter = Meter(
        progress, label=f"packing as {candidate.name}", total_bytes=total_bytes, start_bytes=0
    )
    with tempfile.TemporaryFile() as complaints:
        # A session of its own: Ctrl-C is this process's to handle.
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=True,
        )
        try:
            while child.poll() is None:
                try:
                    child.wait(POLL_S)
                except subprocess.TimeoutExpired:
                    written = target.stat().st_size if target.exists() else 0
                    meter.at(min(written, total_bytes))
            meter.at(total_bytes)
        finally:
            child.kill()
            child.wait()
            meter.finish()
        if child.returncode != 0:
            complaints.seek(0)
            lines = complaints.read().decode("utf-8", "replace").strip().splitlines()
            how = f"ended by signal {-child.returncode}" if child.returncode < 0 else "failed"
            raise EngineFailed(
                f"packing {source.name} as {candidate.name} {how}"
                + (f": {lines[-1]}" if lines else "")
            )
