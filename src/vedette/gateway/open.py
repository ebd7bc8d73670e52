"""The gateway that the configuration asks for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import httpx2
import orjson

from vedette.backends.address import OpenAIServer, RunningServer, parse_address
from vedette.backends.base import Backend
from vedette.backends.http_client import is_loopback
from vedette.config import Settings, config_file, section
from vedette.errors import InputError
from vedette.tasks.gate import Price
from vedette.types import Json

from .cache import AnswerCache
from .compress import open_compressor
from .decide import open_decider
from .errand import Route
from .gateway import FREE, Gateway
from .guard import open_guard
from .hide import open_hider
from .ledger import Ledger
from .paths import beside
from .read import read_gateway
from .tables import GatewayTable, RouteTable
from .upstream import Upstream

SQLITE = "sqlite:///"


def configured(settings: Settings) -> GatewayTable | None:
    """The table `[gateway]`; None if there is none. Nothing is opened yet.

    Raises `InputError` for what is wrong with it, and for tiers that the settings forbid.
    """
    data = section("gateway")
    if data is None:
        return None
    where = config_file()
    table = read_gateway(data, where)
    for name, tier in table.tiers.items():
        if settings.offline and not is_loopback(tier.base_url):
            raise InputError(
                f"gateway.tiers.{name} in {where} is not this machine, and offline forbids the "
                "network"
            )
    address = parse_address(settings.backend)
    if isinstance(address, RunningServer | OpenAIServer) and not is_loopback(address.url):
        for name, route in table.routes.items():
            if route.redact is not None:
                raise InputError(
                    f"gateway.routes.{name} in {where} redacts what leaves this machine, and the "
                    f"backend that reads it before is elsewhere: {address.url}",
                    hint="serve a model of this machine",
                )
    return table


def open_gateway(
    table: GatewayTable,
    settings: Settings,
    backend: Backend,
    model: str,
    transports: Mapping[str, httpx2.AsyncBaseTransport] | None = None,
) -> Gateway:
    """The gateway of a table, over the backend that is served as `model`.

    `transports` stand in for the network to a tier. Raises what its files and thresholds raise;
    nothing stays open then.
    """
    base = config_file().parent
    transports = transports or {}
    with ExitStack() as stack:
        ledger = Ledger(ledger_url(table, settings), require=table.ledger.require)
        stack.callback(ledger.close)
        cache = None
        if any(route.cache for route in table.routes.values()):
            kept = table.cache
            file = Path(beside(kept.file, base)) if kept.file else _folder(settings) / "answers.db"
            cache = AnswerCache(file, ttl_s=kept.ttl_s, max_bytes=kept.max_bytes)
            stack.callback(cache.close)
        routes: dict[str, Route] = {}
        for name, one in table.routes.items():
            route = _route(name, one, table, backend, base, cache)
            for asked in one.names(name):
                if asked == model:
                    raise InputError(
                        f"gateway.routes.{name} answers to {asked}, which is the served model",
                        hint="give the route another match, or the model another --alias",
                    )
                routes[asked] = route
        gateway = Gateway(
            routes,
            [Upstream(name, one, transports.get(name)) for name, one in table.tiers.items()],
            backend,
            ledger,
            large=_large(table),
            cache=cache,
            max_requests=table.max_requests,
        )
        stack.pop_all()
        return gateway


def ledger_url(table: GatewayTable | None, settings: Settings) -> str:
    """Where the ledger is; a relative file is meant from the configuration's folder."""
    if table is not None and table.ledger.url is not None:
        url = table.ledger.url.get_secret_value()
        file = url.removeprefix(SQLITE)
        return url if file == url else f"{SQLITE}{beside(file, config_file().parent)}"
    return f"{SQLITE}{_folder(settings) / 'ledger.db'}"


def _folder(settings: Settings) -> Path:
    return settings.home / "gateway"


def _large(table: GatewayTable) -> Price:
    name = table.large or next(iter(table.tiers), None)
    return FREE if name is None else Price(*table.tiers[name].price)


def _route(
    name: str,
    table: RouteTable,
    whole: GatewayTable,
    backend: Backend,
    base: Path,
    cache: AnswerCache | None,
) -> Route:
    guard = open_guard(table.guard, backend, base) if table.guard else None
    decider = None
    if table.decide is not None:
        decider = open_decider(table.decide, backend, base, f"gateway.routes.{name}.decide")
    facts: list[Json] = [
        name,
        table.model_dump(mode="json"),
        {tier: [one.base_url, one.model] for tier, one in whole.tiers.items()},
        backend.identity,
        guard.task.identity if guard is not None else None,
        decider.identity if decider is not None else None,
    ]
    return Route(
        name=name,
        call=tuple(table.call),
        guard=guard,
        decider=decider,
        hider=open_hider(table.redact, backend, base) if table.redact else None,
        compressor=open_compressor(table.compress, backend, base) if table.compress else None,
        cache=cache if table.cache else None,
        made_for=hashlib.sha256(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)).hexdigest(),
    )
