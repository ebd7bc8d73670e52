"""`vedette keys`: who may use a server, for what and how often."""

from __future__ import annotations

from cyclopts import App

from vedette.cli.console import note, print_json, print_table
from vedette.config import load
from vedette.serve.keys import Key, KeyFile
from vedette.serve.rate import Rate
from vedette.serve.scopes import DEFAULT_SCOPES, check_scopes

app = App(name="keys", help="Make, list and remove API keys of `vedette serve`.")


@app.command
def add(name: str, *, scopes: str = ",".join(DEFAULT_SCOPES), rate: str | None = None) -> int:
    """Make a key and print it. This is the only time that it is shown.

    Parameters
    ----------
    name
        Name of the key, for the list and for the server's log.
    scopes
        What it opens, with commas between: chat, embed, tasks, files, metrics, admin.
    rate
        How often it may be used: 60/min, or so many in s, h or day.
    """
    file = _file()
    wanted = check_scopes(scope.strip() for scope in scopes.split(",") if scope.strip())
    key = file.add(name, wanted, Rate.of(rate) if rate is not None else None)
    print(key, flush=True)
    note(f"{file.path} has its hash only: this is the one time that the key is shown")
    return 0


@app.command(name="list")
def list_keys(*, json: bool = False) -> int:
    """List the keys: names, scopes, rates. The keys themselves are kept nowhere.

    Parameters
    ----------
    json
        One JSON array, for machines.
    """
    file = _file()
    keys = file.read()
    if json:
        print_json([_as_json(key) for key in keys])
        return 0
    print_table(
        ("name", "scopes", "rate", "created"),
        [(key.name, ", ".join(sorted(key.scopes)), key.rate or "any", key.created) for key in keys],
        title=f"API keys in {file.path}",
    )
    return 0


@app.command
def remove(name: str) -> int:
    """Forget a key. A running server lets it in no more.

    Parameters
    ----------
    name
        Name of the key.
    """
    file = _file()
    file.remove(name)
    note(f"the key {name} is removed from {file.path}")
    return 0


def _as_json(key: Key) -> dict[str, object]:
    return {
        "name": key.name,
        "scopes": sorted(key.scopes),
        "rate": str(key.rate) if key.rate else None,
        "created": key.created,
    }


def _file() -> KeyFile:
    return KeyFile(load().keys_path)
