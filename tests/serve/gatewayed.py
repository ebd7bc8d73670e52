"""A server with a gateway whose configuration is a text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2
from served import served
from upstreams import Upstream

from vedette.config import load
from vedette.decide.calibration import Calibration, Promise
from vedette.decide.risk import Threshold
from vedette.gateway.gateway import Gateway
from vedette.gateway.open import configured, open_gateway
from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions
from vedette.tasks.calibrations import Calibrations
from vedette.tasks.classify import QUESTION, Classify
from vedette.tasks.labels import Label


@dataclass
class Served:
    http: httpx2.Client
    url: str
    gateway: Gateway

    def ask(self, text: str | list, model: str = "auto", **fields):
        """The response to a chat."""
        messages = text if isinstance(text, list) else [{"role": "user", "content": text}]
        body = {"model": model, "messages": messages, **fields}
        return self.http.post("/v1/chat/completions", json=body)

    def stream(self, text: str | list, **fields) -> tuple[httpx2.Response, list]:
        """The response, and its events; the end of all is None."""
        response = self.ask(text, stream=True, **fields)
        lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: ")]
        return response, [None if line == "[DONE]" else json.loads(line) for line in lines]

    @property
    def rows(self) -> list[dict]:
        """The ledger, the first request first."""
        return self.gateway.ledger.last(1000)[::-1]


def text_of(events: list) -> str:
    """The text of a stream's first choice."""
    chunks = [event for event in events if event and event.get("choices")]
    return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)


def configure(tmp_path: Path, monkeypatch, text: str) -> None:
    """Have this be the configuration file, and nothing else a setting."""
    (tmp_path / "vedette.toml").write_text(text)
    monkeypatch.setenv("VEDETTE_CONFIG", str(tmp_path / "vedette.toml"))
    monkeypatch.setenv("VEDETTE_HOME", str(tmp_path / "home"))


@contextmanager
def gatewayed(tmp_path: Path, monkeypatch, backend, text: str) -> Iterator[Served]:
    configure(tmp_path, monkeypatch, text)
    settings = load()
    table = configured(settings)
    assert table is not None
    gateway = open_gateway(table, settings, backend, "tiny")
    options = ServeOptions(model="tiny", max_tokens=12)
    with (
        served(create_app(backend, options, gateway=gateway)) as url,
        httpx2.Client(base_url=url, timeout=30) as http,
    ):
        yield Served(http, url, gateway)


def tier(one: Upstream, name: str = "large", **more) -> str:
    """The table of a tier."""
    given = {"base_url": one.url, "model": "big", "tries": 1, **more}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in given.items())
    return f"[gateway.tiers.{name}]\n{lines}\n"


def threshold_file(path: Path, backend, labels: tuple[str, ...], above: float | None) -> None:
    """Thresholds for a classification by this backend: what is over `above` is kept."""
    share = 1 / len(labels)
    calibration = Calibration(
        choices=labels,
        log_prior=(0.0,) * len(labels),
        temperature=1.0,
        promise=Promise(alpha=0.1, delta=0.05),
        threshold=None if above is None else Threshold(above, 0.09, 100, 4, 200),
        by_choice=None,
        histogram=(0.1,) * 10,
        n_rows=200,
    )
    key = Classify(tuple(map(Label, labels))).key(backend)
    assert 0 < share < 1
    Calibrations("classify", key, {QUESTION: replace(calibration)}).write(str(path))
