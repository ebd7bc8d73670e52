"""The ledger on both kinds of database, without a server around it."""

from __future__ import annotations

import pytest

from postgres_server import running_postgres
from vedette.errors import FileError, InputError, LedgerFailed
from vedette.gateway.ledger import Ledger
from vedette.gateway.passage import OK, Passage
from vedette.gateway.report import whole
from vedette.types import Usage


@pytest.fixture(scope="module")
def postgres():
    pytest.importorskip("psycopg")
    with running_postgres("books") as folder:
        yield f"postgresql://books@/postgres?host={folder}"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/deep/er/ledger.db"
    return request.getfixturevalue("postgres")


def passed(route: str, tier: str, n: int, **more) -> Passage:
    usage = Usage(prompt_tokens=n, sampled_tokens=1)
    return Passage(route=route, tier=tier, usage=usage, **{"outcome": OK, **more})


def test_requests_are_added_up_by_route_and_tier(url):
    ledger = Ledger(url)
    for one in (
        passed("auto", "large", 10, cost=0.5, saved=-0.5),
        passed("auto", "large", 20, cost=0.25, outcome="server_failed"),
        passed("auto", "local", 30, saved=2.0, cache="hit"),
        passed("自动", "local", 40, at_s=1000.0),
    ):
        ledger.begin(one).result()
        assert one.row
        ledger.end(one)
    sums = {(one.route, one.tier): one for one in ledger.sums(2000.0)}
    assert sums.keys() == {("auto", "large"), ("auto", "local")}
    large = sums["auto", "large"]
    assert (large.requests, large.unanswered, large.cached) == (2, 1, 0)
    assert (large.prompt_tokens, large.completion_tokens) == (30, 2)
    assert (large.cost, large.saved) == (0.75, -0.5)
    total = whole(ledger.sums())
    assert (total.requests, total.cached, total.saved) == (4, 1, 1.5)
    assert isinstance(total.prompt_tokens, int)
    assert [row["route"] for row in ledger.last(2)] == ["自动", "auto"]
    ledger.close()
    again = Ledger(url)  # what is there stays
    assert whole(again.sums()).requests == 4
    again.close()


def test_a_row_is_under_way_until_it_ends(url):
    ledger = Ledger(url)
    one = Passage(route="long")
    ledger.begin(one).result()
    assert ledger.last(1)[0]["outcome"] == "under_way"
    one.outcome, one.tier = OK, "large"
    ledger.end(one)
    (row,) = [row for row in ledger.last(10) if row["route"] == "long"]
    assert (row["outcome"], row["tier"]) == (OK, "large")
    ledger.close()


def test_places_that_are_none(tmp_path):
    for url in ("nonsense", "mysql://x/y", "sqlite://"):
        with pytest.raises(InputError):
            Ledger(url)
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError):
        Ledger(f"sqlite:///{tmp_path}/file/ledger.db")
    (tmp_path / "text.db").write_text("no database, and longer than a header of one would be" * 9)
    with pytest.raises(FileError, match="not a database"):
        Ledger(f"sqlite:///{tmp_path}/text.db")
    with pytest.raises(FileError) as refused:
        Ledger("postgresql://me:hush@127.0.0.1:1/none")
    assert "hush" not in str(refused.value)


def test_with_require_a_request_that_cannot_be_written_is_refused(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db", require=True)
    with ledger._engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE vedette_requests")
    with pytest.raises(LedgerFailed):
        ledger.begin(Passage(route="auto")).result()
    with pytest.raises(LedgerFailed):
        ledger.sums()
    ledger.close()
