"""What the rules of `vedette redact` find and miss, whether all comes back, and how fast they are.

    python benchmarks/redact_rules.py [--synth FILE] [--model NAME --sample 60]

Values and near misses are made up (`redact_ids.py`), each in a sentence of its own. Goals: recall
at least 99.5% of every kind, precision at least 99%; 10,000 random texts come back exactly; 5 MB/s
on one core. Exit code 1 if one is missed. `--synth` scores texts with marked spans (one JSON object
a line: full_text and spans), with a model too if one is named.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path

from redact_ids import MAKERS, NEAR_MISSES

from vedette.redaction.placeholders import Placeholders, restore
from vedette.redaction.redactor import Redactor
from vedette.redaction.span import Span

SENTENCES = (
    "Please note {} for the file.", "{}", "我的信息是{}，请核实。", "see:\n{}\nand reply", "({})",
    '{{"value": "{}"}}', "a, {}, b", "The customer gave {}.",
)  # fmt: skip
# What a marked type of the synthetic texts is called here.
SYNTH_KINDS = {
    "CREDIT_CARD": "card", "EMAIL_ADDRESS": "email", "IBAN_CODE": "iban", "IP_ADDRESS": "ip",
    "PHONE_NUMBER": "phone", "US_SSN": "us_ssn",
}  # fmt: skip
MODEL_KINDS = {"PERSON": "person", "STREET_ADDRESS": "address", "ORGANIZATION": "organisation"}


def score_ids(n: int, rng: random.Random) -> bool:
    """Recall of each kind and precision over all; whether both goals are met."""
    redactor = Redactor.of()
    right = wrong = 0
    met = True
    for kind, maker in MAKERS.items():
        hits, misses = 0, []
        for _ in range(n):
            value = maker(rng)
            text = rng.choice(SENTENCES).format(value)
            at = text.index(value)
            # Some values come with the word before them, which stays.
            spans = [s for s in redactor.find(text) if s.start >= at and s.end <= at + len(value)]
            good = [
                s for s in spans if s.kind == kind and s.end >= at + len(value.rstrip('"')) - 20
            ]
            hits += bool(good)
            wrong += sum(s.kind != kind for s in spans)
            misses += [] if good else [value]
        right += hits
        met &= hits >= 0.995 * n
        print(f"{kind:16} recall {hits / n:7.2%}  {misses[:3] or ''}")
    for name, maker in NEAR_MISSES.items():
        false = []
        for _ in range(n):
            text = rng.choice(SENTENCES[:6]).format(maker(rng))
            false += [(s.kind, s.rule, text[s.start : s.end]) for s in redactor.find(text)]
        wrong += len(false)
        print(f"near miss: {name:22} {len(false) / n:7.2%} flagged  {false[:2] or ''}")
    precision = right / (right + wrong)
    print(f"precision over all {precision:.2%} ({right:,} right, {wrong:,} wrong)")
    return met and precision >= 0.99


def score_round_trip(n: int, rng: random.Random) -> bool:
    """Random texts of many scripts, with values and with what looks like placeholders."""
    scripts = (
        "abc XYZ 019",
        "äöüßéñ",
        "数据隐私，。",
        "שלום مرحبا",
        "привет",
        "😀👩‍👩‍👧🇩🇪",
        "ไทย हिन्दी",
        "\n\r\t\u2028\u200b\ufeff",
        "[]_.1",
    )
    redactor, failed, replaced = Redactor.of(), 0, 0
    for _ in range(n):
        parts = []
        for _ in range(rng.randint(0, 12)):
            choice = rng.random()
            if choice < 0.5:
                parts.append("".join(rng.choices(rng.choice(scripts), k=rng.randint(1, 12))))
            elif choice < 0.8:
                parts.append(rng.choice(list(MAKERS.values()))(rng))
            else:
                parts.append(
                    rng.choice(("[EMAIL_1]", "[PHONE_2.1]", "[TEXT_1]", "[[CARD_1]]", "[A_0]"))
                )
        text = "".join(parts)
        placeholders = Placeholders()
        out, entities = placeholders.replace(text, redactor.find(text))
        failed += restore(out, placeholders.mapping) != text
        replaced += len(entities)
    print(f"round trip: {n:,} texts, {replaced:,} values replaced, {failed} did not come back")
    return failed == 0


def mixed_text(n_bytes: int, rng: random.Random) -> str:
    """Prose, log lines, JSON, Chinese and code, with a value every 700 bytes or so."""
    prose = "The parcel left the depot on Monday, and nobody has seen it since; we asked twice. "
    chinese = "昨天下单的商品还没有发货，客服说仓库正在盘点，预计三天之内可以寄出，请耐心等待。"
    code = "def total(rows):\n    return sum(row.price * row.count for row in rows if row.valid)\n"
    parts, size = [], 0
    while size < n_bytes:
        trace = f"{rng.getrandbits(128):032x}"
        when = f"2026-01-{rng.randint(10, 28)} 10:22:{rng.randint(10, 59)}.{rng.randint(100, 999)}"
        where = f"[worker-{rng.randint(1, 9)}] request {trace}"
        log = f"{when} INFO {where} done in {rng.random() * 100:.3f} ms\n"
        event = (
            json.dumps(
                {
                    "ts": 1_700_000_000_000 + rng.randint(0, 10**9),
                    "id": trace[:16],
                    "ok": True,
                    "n": rng.randint(0, 9999),
                }
            )
            + "\n"
        )
        block = [prose * 2, log * 2, event, chinese, code, log]
        rng.shuffle(block)
        parts += [*block, rng.choice(list(MAKERS.values()))(rng), "\n"]
        size += sum(len(part.encode()) for part in parts[-8:])
    return "".join(parts)


def score_speed(rng: random.Random) -> bool:
    """MB of UTF-8 for each second of CPU time of this process."""
    text = mixed_text(8_000_000, rng)
    redactor = Redactor.of()
    redactor.find(text[:100_000])  # loads the metadata of telephone numbers
    chunks = [text[i : i + (1 << 20)] for i in range(0, len(text), 1 << 20)]
    started, found = time.process_time(), 0
    for chunk in chunks:
        found += len(redactor.find(chunk))
    speed = len(text.encode()) / 1e6 / (time.process_time() - started)
    print(f"speed: {speed:.1f} MB/s on {len(text.encode()) / 1e6:.0f} MB, {found:,} values")
    return speed >= 5


def score_synth(path: Path, model: str | None, sample: int) -> None:
    """F2 by type: a marked span is found when a span of its kind covers it, gone when any does.

    A span is false when it overlaps none of its kind.
    """
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    if model:
        rows = random.Random(0).sample(rows, sample)
    kinds = SYNTH_KINDS | (MODEL_KINDS if model else {})
    found = (
        _model_spans(rows, model) if model else [Redactor.of().find(r["full_text"]) for r in rows]
    )
    hit, marked, said, gone = (Counter[str]() for _ in range(4))
    for row, spans in zip(rows, found, strict=True):
        wanted = [(s["entity_type"], s["start_position"], s["end_position"]) for s in row["spans"]]
        for name, kind in kinds.items():
            own = [s for s in spans if s.kind == kind]
            gold = [(a, b) for t, a, b in wanted if t == name]
            hit[name] += sum(any(s.start <= a and b <= s.end for s in own) for a, b in gold)
            gone[name] += sum(any(s.start <= a and b <= s.end for s in spans) for a, b in gold)
            marked[name] += len(gold)
            said[name] += sum(not any(s.start < b and a < s.end for a, b in gold) for s in own)
    for name in kinds:
        tp, fp, fn = hit[name], said[name], marked[name] - hit[name]
        f2 = 5 * tp / (5 * tp + 4 * fn + fp) if tp else 0.0
        print(
            f"{name:16} F2 {f2:6.1%}  found {tp} of {marked[name]}, {fp} false; {gone[name]} gone"
        )


def _model_spans(rows: list[dict], model: str) -> list[list[Span]]:
    import vedette
    from vedette.errors import VedetteError
    from vedette.redaction.names import name_spans
    from vedette.tasks.labels import Label
    from vedette.tasks.names import DEFAULT_KINDS, FindNames, names_of

    task = FindNames(tuple(Label(kind) for kind in DEFAULT_KINDS))
    texts = [row["full_text"] for row in rows]
    redactor, found, failed = Redactor.of(), [], 0
    for text, answer in zip(texts, vedette.map(texts, task, model=model), strict=True):
        failed += isinstance(answer, VedetteError)
        names = {} if isinstance(answer, VedetteError) else names_of(answer)
        found.append(redactor.find(text, name_spans(text, names, rule="model")))
    print(f"{model}: {len(rows)} texts, {failed} could not be checked")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1000, help="values of each kind")
    parser.add_argument("--texts", type=int, default=10_000, help="texts of the round trip")
    parser.add_argument("--synth", type=Path, help="texts with marked spans")
    parser.add_argument("--model", help="look for names in a sample of them too")
    parser.add_argument("--sample", type=int, default=60)
    options = parser.parse_args()
    if options.synth:
        score_synth(options.synth, options.model, options.sample)
        return 0
    rng = random.Random(20260131)
    met = [score_ids(options.n, rng), score_round_trip(options.texts, rng), score_speed(rng)]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
