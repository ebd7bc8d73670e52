"""What the gateway's ledger and cache could not keep is counted in `/metrics`."""

from __future__ import annotations

import sqlite3

from gatewayed import gatewayed, tier
from sqlalchemy.exc import OperationalError
from upstreams import upstream

ROUTE = '[gateway.routes.auto]\ncall = ["large"]\ncache = true\n'


def told(on) -> dict[str, float]:
    lines = on.http.get("/metrics").text.splitlines()
    found = (line.rsplit(" ", 1) for line in lines if line.startswith("vedette_gateway_"))
    return {name.partition("{")[0]: float(value) for name, value in found}


def test_failures_of_ledger_and_cache_are_counted(tmp_path, monkeypatch, tiny_backend):
    with (
        upstream() as large,
        gatewayed(tmp_path, monkeypatch, tiny_backend, tier(large) + ROUTE) as on,
    ):
        assert on.ask("hello", temperature=0).status_code == 200
        names = ("vedette_gateway_ledger_lost_total", "vedette_gateway_cache_failures_total")
        assert told(on) == dict.fromkeys(names, 0)

        def fails(*_args, **_how):
            raise OperationalError("insert", {}, sqlite3.OperationalError("disk full"))

        monkeypatch.setattr(on.gateway.ledger._engine, "begin", fails)
        on.gateway._cache._database.close()
        assert on.ask("hello", temperature=0).status_code == 200
        assert len(on.rows) == 1  # the ledger's thread has got so far
        assert told(on)[names[0]] == 1
        assert told(on)[names[1]] == 2


def test_without_a_gateway_there_are_none(http):
    assert "vedette_gateway_" not in http.get("/metrics").text
