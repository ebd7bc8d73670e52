"""Requests of every kind that `/openapi.json` allows and forbids, and whether the answers fit it.

    python benchmarks/api_cases.py [--cases 2000] [--model PATH] [--seed 1]

Schemathesis makes them, by route: half as the document allows, half with a mistake. No answer may
be a 5xx, have a status, type or form that the document does not name, accept a mistake or refuse
what is allowed for its form. Without `--model` a tiny model with random weights answers. Exit code
1 with the failures, each with the command that repeats it. tests/serve runs a few of these.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import schemathesis
from common import say
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.config import SchemathesisConfig
from schemathesis.generation import GenerationMode

ROOT = Path(__file__).resolve().parent.parent
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
TIMEOUT_S = 300
MOST_TOKENS = 4
MOST_CHOICES = 3
_MOST = {
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens"), MOST_TOKENS),
    "n": MOST_CHOICES,
}
FEW = 10
"""Cases of a route without a body, which differ little."""
# What a document cannot say, such as that `n` needs a temperature, is refused though it fits; by
# System One's protocol with 413 and 422.
ALLOWED = ["2xx", "400", "404", "413", "422"]


@dataclass(slots=True)
class Outcome:
    """How many cases there were, their statuses, and what was wrong, by route."""

    n_cases: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def ask(url: str, n_cases: int, *, first_seed: int = 1, headers: Any = None) -> Outcome:
    """Ask a running server. Mistakes in it are told in the outcome."""
    headers = dict(headers or {})
    document = httpx2.get(f"{url}/openapi.json", headers=headers).raise_for_status().json()
    config = SchemathesisConfig.from_dict(
        {"checks": {"positive_data_acceptance": {"expected-statuses": ALLOWED}}}
    )
    schema = schemathesis.openapi.from_dict(document, config=config)
    operations = [found.ok() for found in schema.get_all_operations()]
    models = httpx2.get(f"{url}/v1/models", headers=headers).json()["data"]
    outcome = Outcome()
    n_with_body = sum(bool(operation.body) for operation in operations)
    each = max(1, n_cases // (n_with_body * len(MODES)))
    for number, operation in enumerate(operations):
        n = each if operation.body else min(each, FEW)
        # Of a text in a path nothing is forbidden, which takes long to find out.
        for mode in MODES if operation.body or operation.query else MODES[:1]:
            _ask_one(operation, mode, n, first_seed + number, outcome, url, headers, models)
    return outcome


def _ask_one(
    operation: Any,
    mode: GenerationMode,
    n_cases: int,
    number: int,
    outcome: Outcome,
    url: str,
    headers: dict[str, str],
    models: list[dict[str, Any]],
) -> None:
    """The cases of one route, as it allows or with mistakes; of the same mistake one is told."""

    @seed(number)
    @settings(
        max_examples=n_cases,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def one(case: Any) -> None:
        if mode is GenerationMode.POSITIVE:
            _make_quick(case.body, models[0]["id"])
        outcome.n_cases += 1
        reply = case.call(base_url=url, headers=headers, timeout=TIMEOUT_S)
        outcome.statuses[reply.status_code] += 1
        case.validate_response(reply, headers=headers, transport_kwargs={"base_url": url})

    try:
        one()
    except Unsatisfiable:  # there is nothing that this route forbids
        pass
    except BaseExceptionGroup as group:
        texts = [str(error) for error in group.exceptions]
        outcome.failures.append(f"{operation.label}, {mode.name}\n" + "\n".join(texts))
    except Exception as error:
        outcome.failures.append(f"{operation.label}, {mode.name}\n{error}")


def _make_quick(body: Any, model: str) -> None:
    """Ask for the model that is here, and for short answers."""
    if not isinstance(body, dict):
        return
    if "model" in body:
        body["model"] = model
    for name, most in _MOST.items():
        if isinstance(body.get(name), int):
            body[name] = min(body[name], most)


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--model")
    parser.add_argument("--seed", type=int, default=1)
    given_options = parser.parse_args()
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "serve")]
    from served import served

    from tiny_gguf import build_tiny
    from vedette.backends.local import LocalBackend
    from vedette.engine.options import EngineOptions
    from vedette.serve.app import create_app
    from vedette.serve.file_store import FileStore
    from vedette.serve.options import ServeOptions

    with tempfile.TemporaryDirectory() as folder:
        model = given_options.model or build_tiny("full", Path(folder) / "tiny.gguf")
        backend = LocalBackend(model, EngineOptions(threads=1, width=4))
        try:
            options = ServeOptions(model="tiny", max_tokens=MOST_TOKENS)
            with FileStore(Path(folder) / "files") as files:
                app = create_app(backend, options, files)
                with served(app) as url:
                    outcome = ask(url, given_options.cases, first_seed=given_options.seed)
        finally:
            backend.close()
    say("\n\n".join(outcome.failures))
    statuses = ", ".join(f"{n} times {status}" for status, n in sorted(outcome.statuses.items()))
    print(f"{outcome.n_cases} cases: {statuses}; {len(outcome.failures)} failures")
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
