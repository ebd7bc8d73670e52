"""Hold the memory that `vedette spec plan` predicts against what a process really takes.

    python benchmarks/spec_memory.py --models smollm2-135m,qwen2.5-coder-0.5b --out memory.jsonl
    python benchmarks/spec_memory.py --in memory.jsonl     # compare again, measure nothing

Each case is a process of its own: it loads the model as the engine does, makes the context, fills
all its cells, decodes a whole batch at their end, and reads VmRSS and RssAnon before and after.
Weights are mapped, as always in vedette, so their pages count as resident (RssFile) although the
system can take them back; what llama.cpp repacks for the CPU is there twice. The cells are filled
by copying a sequence's state, which allocates and touches what reading a prompt would.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

MODELS = "smollm2-135m,qwen2.5-coder-0.5b,qwen2.5-coder-1.5b"
BATCH_TOKENS = 256
PARTS = ("model buffer size", "KV buffer size", "compute buffer size", "output buffer size")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--contexts", default="2048,4096,8192")
    parser.add_argument("--kv-types", default="f16,q8_0")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="keep the measurements, a JSON object a line")
    parser.add_argument("--in", dest="kept", type=Path, help="measurements that were kept")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(**json.loads(args.child))))
        return
    rows = _kept(args.kept) if args.kept else _measured(args)
    compare(rows)


def _kept(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _measured(args: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for model in args.models.split(","):
        for context in map(int, args.contexts.split(",")):
            for kv_type in args.kv_types.split(","):
                case = {
                    "model": model,
                    "context_tokens": context,
                    "kv_type": kv_type,
                    "threads": args.threads,
                }
                command = [sys.executable, __file__, "--child", json.dumps(case)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                rows.append({**case, **json.loads(done.stdout)})
                if args.out:
                    with args.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(rows[-1]) + "\n")
    return rows


def resident() -> dict[str, int]:
    """Bytes of this process by /proc/self/status."""
    wanted = ("VmRSS", "RssAnon", "RssFile")
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    pairs = (line.split(":") for line in lines if line.startswith(wanted))
    return {name: int(value.split()[0]) * 1024 for name, value in pairs}


def measure(model: str, context_tokens: int, kv_type: str, threads: int) -> dict[str, Any]:
    """Load, fill, decode; bytes by stage, and llama.cpp's own account of its buffers."""
    from collections import deque

    from vedette.engine.llama import library
    from vedette.engine.llama.batch import Batch
    from vedette.engine.llama.context import Context, ContextSpec
    from vedette.engine.llama.model import Model
    from vedette.models.locate import resolve

    library._log = deque()  # all lines, not the last sixty
    library.start()
    path = resolve(model)
    stages = {"before": resident()}
    loaded = Model(path)
    stages["model"] = resident()
    spec = ContextSpec(
        cells=context_tokens,
        n_seq=context_tokens // BATCH_TOKENS,
        n_outputs=1,
        batch_tokens=BATCH_TOKENS,
        threads=threads,
        kv_type=kv_type,
    )
    context = Context(loaded, spec)
    stages["context"] = resident()
    batch = Batch(BATCH_TOKENS)
    batch.add(0, [7] * BATCH_TOKENS, 0, 1)
    context.decode(batch)
    _copy_to_all_but_last(context, spec.n_seq)
    batch.clear()
    batch.add(spec.n_seq - 1, [7] * BATCH_TOKENS, 0, 1)
    context.decode(batch)
    context.logits(1)
    stages["after"] = resident()
    log = [line for line in library._log if any(part in line for part in PARTS)]
    return {"stages": stages, "log": log}


def _copy_to_all_but_last(context: object, n_seq: int) -> None:
    import ctypes

    import llama_cpp

    size = llama_cpp.llama_state_seq_get_size(context.pointer, 0)
    state = (ctypes.c_uint8 * size)()
    llama_cpp.llama_state_seq_get_data(context.pointer, state, size, 0)
    for target in range(1, n_seq - 1):
        if not llama_cpp.llama_state_seq_set_data(context.pointer, state, size, target):
            raise SystemExit(f"sequence {target} has no room")


def compare(rows: list[dict[str, Any]]) -> None:
    """A line for each case: measured, predicted, the difference, and the parts."""
    print("| model | context | cache | measured MB | predicted MB | difference |")
    print("|---|---|---|---|---|---|")
    errors = []
    for row in rows:
        stages = row["stages"]
        measured = stages["after"]["VmRSS"] - stages["before"]["VmRSS"]
        expected = sum(predict(row).values())
        errors.append(expected / measured - 1)
        print(
            f"| {row['model']} | {row['context_tokens']} | {row['kv_type']} | {measured / 1e6:.1f} "
            f"| {expected / 1e6:.1f} | {errors[-1]:+.1%} |"
        )
    print(f"\nlargest {max(map(abs, errors)):.1%}, median {median(map(abs, errors)):.1%}")


def predict(row: dict[str, Any]) -> dict[str, int]:
    """Bytes by part, as the planner counts a CPU's, with the settings of the engine's contexts."""
    from vedette.spec import memory
    from vedette.spec.model_file import read_model

    model = read_model(row["model"])
    # The engine keeps one cache for all sequences, and no flash attention where it need not.
    setup = memory.Setup(
        context_tokens=row["context_tokens"],
        key_type=row["kv_type"],
        value_type=row["kv_type"],
        batch_tokens=BATCH_TOKENS,
        flash_attention=row["kv_type"] != "f16",
    )
    outputs = memory.output_bytes(model, setup) * (row["context_tokens"] // BATCH_TOKENS)
    caches = (memory.cache_bytes(layer, setup, model.window_tokens) for layer in model.memory)
    return {
        "weights": model.weights_bytes,
        "repacked": memory.repacked_bytes(model.tensors),
        "cache": sum(caches),
        "compute": memory.compute_bytes(model, setup),
        "work": memory.work_bytes(model, setup),
        "outputs": outputs,
        "tables": memory.tables_bytes(model),
    }


if __name__ == "__main__":
    main()
