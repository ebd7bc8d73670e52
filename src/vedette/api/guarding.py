"""Texts held against policies, from Python."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import cast

from vedette.backends.address import InProcess, OwnServer, parse_address
from vedette.backends.none import NoModel
from vedette.config import Settings, load
from vedette.errors import InputError
from vedette.models.fingerprint import file_sha256
from vedette.models.locate import find_local, registry_entry
from vedette.models.names import RegistryName, parse_name
from vedette.tasks.guard.policy import Policy
from vedette.tasks.guard.policy_file import DEFAULT, allowing, find_policy
from vedette.tasks.guard.task import Guard as GuardTask
from vedette.tasks.guard.thresholds import read_thresholds
from vedette.types import Json

from .items import one
from .shared import Answerer


def Guard(
    policies: str | Policy | Sequence[str | Policy] = DEFAULT,
    *,
    allow: str | Iterable[str] = (),
    rules_only: bool = False,
    thresholds: str | None = None,
) -> GuardTask:
    """The guard task, for `map`.

    `policies`: names of built-in ones, paths of TOML files, or policies; one alone may stand
    without a list. `allow`: regular expressions, or one; what they match counts for nothing.
    `thresholds`: a file that `vedette guard --calibrate-on` wrote.
    """
    patterns = [allow] if isinstance(allow, str) else list(allow)
    policies = [policies] if isinstance(policies, str | Policy) else policies
    found = [find_policy(one) if isinstance(one, str) else one for one in policies]
    return GuardTask(
        policies=tuple(allowing(policy, patterns, "allow") for policy in found),
        rules_only=rules_only,
        thresholds=read_thresholds(thresholds) if thresholds is not None else None,
    )


def guard(
    text: str,
    policies: str | Policy | Sequence[str | Policy] = DEFAULT,
    *,
    allow: str | Iterable[str] = (),
    rules_only: bool = False,
    thresholds: str | None = None,
    model: str | None = None,
    backend: Answerer | None = None,
) -> dict[str, Json]:
    """Whether a text breaks a policy, and where: keys `flagged`, `score`, `policy`, `span`, ...

    Rules alone decide where no policy knows the model and there are no `thresholds` for it; then
    none is loaded. The other arguments: see `Guard`; `backend`: see `extract`.
    """
    task = Guard(policies, allow=allow, rules_only=rules_only, thresholds=thresholds)
    if rules_only and (model is not None or backend is not None):
        raise InputError("model and backend are about the model, and rules_only asks none")
    by_name = backend is None or isinstance(backend, str)
    if by_name and not has_say(task, load(model=model, backend=cast("str | None", backend))):
        model, backend = None, NoModel()
    return cast(dict[str, Json], one(task, text, model, backend))


async def aguard(
    text: str,
    policies: str | Policy | Sequence[str | Policy] = DEFAULT,
    *,
    allow: str | Iterable[str] = (),
    rules_only: bool = False,
    thresholds: str | None = None,
    model: str | None = None,
    backend: Answerer | None = None,
) -> dict[str, Json]:
    """`guard` for asyncio."""
    return await asyncio.to_thread(
        guard,
        text,
        policies,
        allow=allow,
        rules_only=rules_only,
        thresholds=thresholds,
        model=model,
        backend=backend,
    )


def has_say(task: GuardTask, settings: Settings) -> bool:
    """Whether the model that the settings name may be asked, found out without loading it."""
    address = parse_address(settings.backend)
    sha256 = None
    # What is known of a model is not known of it under adapters.
    if isinstance(address, InProcess | OwnServer) and not settings.lora:
        wanted = parse_name(address.model or settings.model)
        if isinstance(wanted, RegistryName):
            sha256 = registry_entry(wanted.name).sha256
        elif (found := find_local(wanted)) is not None:
            sha256 = found.sha256 or file_sha256(found.path)
        else:
            return not task.rules_only  # only the file that is still to be fetched can tell
    return task.may_ask(sha256)
