"""examples/orders.csv through `clean` and `dedupe`, as docs/clean.md and docs/dedupe.md show it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vedette.cli.main import run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def vedette(capfd, monkeypatch):
    monkeypatch.chdir(ROOT)

    def call(*tokens: str) -> list[dict]:
        assert run([*tokens, "--quiet"]) == 0
        return [json.loads(line)["value"] for line in capfd.readouterr().out.splitlines()]

    return call


def cleaned(vedette, *options):
    schema = ("--schema", "examples/order.schema.json", "--rules-only")
    return vedette("clean", "examples/orders.csv", *schema, *options)


def test_rules_settle_most_and_name_the_rest(vedette):
    found = cleaned(vedette)
    left = [[(one["field"], one["reason"]) for one in value["unsettled"]] for value in found]
    assert left == [
        [],
        [],
        [("ordered", "ambiguous"), ("amount", "ambiguous")],
        [],
        [
            ("ordered", "not a date"),
            ("size", "none of the values"),
            ("paid", "neither true nor false"),
        ],
        [("ordered", "ambiguous")],
    ]
    assert found[0]["value"] == found[1]["value"]


def test_what_is_told_settles_what_was_ambiguous(vedette):
    found = cleaned(vedette, "--order", "dmy", "--currency", "USD")
    assert found[2]["value"]["ordered"] == "2026-04-03"
    assert found[2]["value"]["amount"] == {"amount": 89.9, "currency": "USD"}
    assert found[3]["value"] == {**found[5]["value"], "ordered": "2026-03-04"}


def test_the_same_products_are_found_whatever_the_order_of_their_words(vedette):
    found = vedette("dedupe", "examples/orders.csv", "--fields", "product", "--by", "words")
    assert [value["representative"] for value in found] == ["1", "1", "3", "4", "5", "4"]
