"""Policies from TOML: those that vedette brings, and a user's own, which may build on them."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from vedette.errors import FileError, InputError
from vedette.redaction.rules import KINDS

from .normalise import folded_pattern
from .policy import KnownModel, Policy, Rule, Weights
from .probe import Probe, unpack

BUILT_IN = (
    "prompt-injection",
    "indirect-injection",
    "jailbreak",
    "privacy",
    "secrets",
    "content",
)
DEFAULT = ("prompt-injection", "jailbreak")

_TEXTS = ("id", "description", "question")
_LISTS = ("examples", "counterexamples", "allow")
_SHOWN = ("description", "question", "examples", "counterexamples")  # what the model's odds are of
_KEYS = {
    *(*_TEXTS, *_LISTS, "extends", "rules", "drop", "hidden_weight"),
    *("rules_only", "with_model", "known_models"),
}
_WEIGHTS = {
    "rules_only": ({"bias", "rules", "threshold"}, set[str]()),
    "with_model": ({"bias", "rules", "model", "threshold"}, {"limit", "least", "grey"}),
    "known_models": ({"bias", "rules", "model", "threshold"}, {"limit", "least", "grey"}),
}
_PROBE = {"prompt", "bias", "scale", "weights"}

# For a policy that says nothing of it: rules flag that are worth over 2.5 together.
_DEFAULT_WEIGHTS = {
    "rules_only": Weights(bias=-4.0, rules=1.6, threshold=0.5),
    "with_model": Weights(bias=-4.0, rules=1.6, model=1.0, threshold=0.5),
}


@lru_cache(maxsize=8)
def built_in(name: str) -> Policy:
    """A policy of vedette's own, by its id."""
    source = files("vedette.tasks").joinpath("policies", f"{name}.toml").read_text("utf-8")
    return policy_of(tomllib.loads(source), f"policies/{name}.toml")


def find_policy(spec: str) -> Policy:
    """The policy of this name, or of this TOML file.

    A file with `extends = "NAME"` takes what it does not say itself from that policy; its rules
    are added, and take the place of rules of the same name; `drop` names rules to leave out. Where
    it changes what the model is shown, that policy's known models are known no more.
    Raises `InputError` for an unknown name and for a file that is no policy, `FileError` for one
    that cannot be read.
    """
    if spec in BUILT_IN:
        return built_in(spec)
    if not (spec.endswith(".toml") or os.path.isfile(spec)):
        raise InputError(
            f"there is no policy {spec!r}",
            hint=f"the policies are {', '.join(BUILT_IN)}, or a file NAME.toml",
        )
    try:
        return policy_of(tomllib.loads(Path(spec).read_text("utf-8-sig")), spec)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FileError(f"cannot read the policy {spec}: {reason}") from error
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"the policy {spec} is not TOML: {error}") from error


def allowing(policy: Policy, patterns: Iterable[str], where: str) -> Policy:
    """The policy with more that it allows; blank patterns are left out. Raises `InputError`."""
    added = [folded_pattern(pattern) for pattern in patterns if pattern.strip()]
    for pattern in added:
        _check_pattern(pattern, where, "the allow-list")
    return replace(policy, allow=(*policy.allow, *added))


def policy_of(data: Mapping[str, Any], where: str) -> Policy:
    """A policy from what a file holds. Raises `InputError` that names the file and the key."""
    for key in data:
        if key not in _KEYS:
            _fault(where, f"unknown key {key!r}", f"the keys are {', '.join(sorted(_KEYS))}")
    base = _base(data.get("extends"), where)
    own: dict[str, Any] = {}
    for key in _TEXTS:
        value = data.get(key, getattr(base, key, None))
        if not isinstance(value, str) or not value.strip():
            _fault(where, f"{key} must be a text that says something")
        own[key] = value
    for key in _LISTS:
        value = data.get(key, list(getattr(base, key, ())))
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            _fault(where, f"{key} must be a list of texts")
        own[key] = tuple(value)
    own["allow"] = tuple(map(folded_pattern, own["allow"]))
    for pattern in own["allow"]:
        _check_pattern(pattern, where, "allow")
    for key in ("rules_only", "with_model"):
        own[key] = _weights(data.get(key), key, getattr(base, key, None), where)
    own["known_models"] = _known_models(data, base, where)
    own["rules"] = _rules(data, base.rules if base else (), where)
    hidden = data.get("hidden_weight", base.hidden_weight if base else 0.0)
    own["hidden_weight"] = _number(hidden, where, "hidden_weight")
    return Policy(**own)


def _base(name: object, where: str) -> Policy | None:
    if name is None:
        return None
    if name not in BUILT_IN:
        _fault(where, f"extends is {name!r}", f"it must be one of {', '.join(BUILT_IN)}")
    return built_in(str(name))


def _weights(data: object, key: str, base: Weights | None, where: str) -> Weights:
    if data is None:
        return base or _DEFAULT_WEIGHTS[key]
    needed, other = _WEIGHTS[key]
    if not isinstance(data, Mapping) or not needed <= set(data) <= needed | other:
        keys = ", ".join(sorted(needed))
        _fault(where, f"[{key}] must have {keys}", "and nothing else but limit, least and grey")
    numbers = {name: _number(data[name], where, f"{key}.{name}") for name in needed}
    limit = _number(data.get("limit", math.inf), where, f"{key}.limit")
    least = _number(data.get("least", -math.inf), where, f"{key}.least")
    grey = _grey(data.get("grey", [0.0, 1.0]), key, where)
    weights = Weights(**numbers, limit=limit, least=least, grey=grey)
    if not 0 < weights.threshold < 1:
        _fault(where, f"{key}.threshold is {weights.threshold}; it must be between 0 and 1")
    if min(weights.rules, weights.model, weights.limit) < 0:
        _fault(where, f"[{key}] has a negative weight", "what is found must count for the policy")
    if weights.least > 0:
        _fault(where, f"{key}.least is {least}; it must be 0 or less", "0 means nothing is known")
    if weights.score(0.0, 0.0) > weights.threshold:
        _fault(where, f"[{key}] flags a text of which nothing is known", "lower its bias")
    return weights


def _grey(value: object, key: str, where: str) -> tuple[float, float]:
    if not (isinstance(value, list) and len(value) == 2):
        _fault(where, f"{key}.grey must be two numbers")
    low, high = (_number(one, where, f"{key}.grey") for one in value)
    if not 0 <= low <= high <= 1:
        _fault(where, f"{key}.grey must be two numbers from 0 to 1, the lower first")
    return low, high


def _known_models(
    data: Mapping[str, Any], base: Policy | None, where: str
) -> tuple[KnownModel, ...]:
    tables = data.get("known_models")
    if tables is None:
        return base.known_models if base and not any(key in data for key in _SHOWN) else ()
    if not isinstance(tables, list) or not all(isinstance(one, Mapping) for one in tables):
        _fault(where, "known_models must be tables: [[known_models]]")
    known: list[KnownModel] = []
    for table in tables:
        name, sha256 = table.get("name"), table.get("sha256")
        if not isinstance(name, str) or not isinstance(sha256, str):
            _fault(where, "a known model has no name and sha256")
        if any(one.sha256 == sha256 for one in known):
            _fault(where, f"the known model {name!r} is there twice", "a file has one table")
        own = ("name", "sha256", "probe")
        rest = {key: value for key, value in table.items() if key not in own}
        weights = _weights(rest, "known_models", None, where)
        known.append(KnownModel(name, sha256, weights, _probe(table, name, where)))
    return tuple(known)


def _probe(table: Mapping[str, Any], name: str, where: str) -> Probe | None:
    data = table.get("probe")
    if data is None:
        return None
    what = f"the probe of {name!r}"
    if not isinstance(data, Mapping) or set(data) != _PROBE:
        _fault(where, f"{what} must have {', '.join(sorted(_PROBE))}", "and nothing else")
    if "grey" in table:
        _fault(where, f"{what} reads windows only, so {name!r} can have no grey")
    prompt, packed = data["prompt"], data["weights"]
    if not isinstance(prompt, str) or not prompt.strip():
        _fault(where, f"{what}: prompt must be a text that says something")
    if not isinstance(packed, str):
        _fault(where, f"{what}: weights must be a text, float16 numbers in base64")
    try:
        unpack(packed)
    except ValueError as error:
        _fault(where, f"{what}: its weights {error}")
    bias, scale = (_number(data[key], where, f"{what}: {key}") for key in ("bias", "scale"))
    return Probe(prompt, bias, scale, packed)


def _rules(data: Mapping[str, Any], base: tuple[Rule, ...], where: str) -> tuple[Rule, ...]:
    rules = {rule.name: rule for rule in base}
    for name in data.get("drop", ()):
        if rules.pop(name, None) is None:
            _fault(where, f"drop names {name!r}, and there is no such rule to leave out")
    seen: set[str] = set()
    tables = data.get("rules", [])
    if not isinstance(tables, list):
        _fault(where, "rules must be tables: [[rules]]")
    for table in tables:
        rule = _rule(table, where)
        if rule.name in seen:
            _fault(where, f"there are two rules of the name {rule.name!r}")
        seen.add(rule.name)
        rules[rule.name] = rule
    return tuple(rules.values())


def _rule(table: object, where: str) -> Rule:
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        _fault(where, "a rule has no name")
    name = table["name"]
    unknown = set(table) - {"name", "pattern", "kinds", "weight"}
    if unknown:
        _fault(where, f"the rule {name!r} has the unknown key {sorted(unknown)[0]!r}")
    pattern, kinds = table.get("pattern", ""), table.get("kinds", [])
    if not isinstance(pattern, str) or not isinstance(kinds, list) or bool(pattern) == bool(kinds):
        _fault(
            where,
            f"the rule {name!r} must have a pattern or kinds",
            f"kinds is a list of what redaction finds: {', '.join(KINDS)}",
        )
    for kind in kinds:
        if kind not in KINDS:
            _fault(where, f"the rule {name!r}: no kind {kind!r}", f"kinds are {', '.join(KINDS)}")
    _check_pattern(pattern, where, f"the rule {name!r}")
    weight = _number(table.get("weight"), where, f"the weight of the rule {name!r}")
    if weight <= 0:
        _fault(where, f"the weight of the rule {name!r} is {weight}", "it must be over 0")
    return Rule(name, weight, folded_pattern(pattern), tuple(kinds))


def _check_pattern(pattern: str, where: str, what: str) -> None:
    try:
        re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        _fault(where, f"{what}: {pattern!r} is no regular expression: {error}")


def _number(value: object, where: str, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        _fault(where, f"{what} must be a number")
    return float(value)


def _fault(where: str, what: str, hint: str | None = None) -> NoReturn:
    raise InputError(f"{where}: {what}", hint=hint)
