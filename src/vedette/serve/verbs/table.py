"""Every task that a request can ask for: what builds it, and what an input of it is."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.resources import files
from typing import Any, cast

import orjson

from vedette.config import nearest
from vedette.errors import InputError
from vedette.tasks.base import Task
from vedette.types import Json

from .items import STRING, ItemForm
from .options import Options
from .together import Together

MOST_BUILT = 32
"""Tasks of one kind that are kept, with what they measured of the model."""

_FILE = "it names a file, and no file of the server is read"
_REGEX = "a regular expression of a client's own could keep the server busy for ever"


@dataclass(frozen=True, kw_only=True)
class Verb:
    """One task. `built_by` and `options_of` are import paths, so that the table loads none.

    The signature of `options_of` (by default `built_by`) has the options, but for those that are
    `hidden`; `refused` are others, with the reason. `together` tasks compare the inputs of a
    request with each other, so they take no single one.
    """

    name: str
    built_by: str
    options_of: str = ""
    hidden: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)
    form: ItemForm = field(default_factory=ItemForm)
    together: bool = False

    @cached_property
    def summary(self) -> str:
        """What it does, for people and for models."""
        return cast(str, _words()[self.name]["summary"])

    @cached_property
    def options(self) -> Options:
        """Its options. Raises `CapabilityMissing` where an extra is not installed."""
        return Options(
            _found(self.options_of or self.built_by),
            hidden=self.hidden,
            refused=self.refused,
            words=_words()[self.name].get("options", {}),
        )

    def task(self, given: Mapping[str, Json]) -> Task | Together:
        """The task with these options; the same one for the same options.

        Raises `InputError`, and `CapabilityMissing` where an extra is not installed.
        """
        try:
            return self._built(orjson.dumps(given))
        except orjson.JSONEncodeError as error:
            raise InputError(f"the options cannot be written as JSON: {error}") from error

    @cached_property
    def _built(self) -> Callable[[bytes], Task | Together]:
        build = _found(self.built_by)

        def built(given: bytes) -> Task | Together:
            return cast(Task | Together, build(**self.options.read(orjson.loads(given))))

        return lru_cache(maxsize=MOST_BUILT)(built)


def _found(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    return cast(Callable[..., Any], getattr(import_module(module), name))


@cache
def _words() -> dict[str, Any]:
    """What is said of each task and option."""
    return tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))


_CHAT = {
    "type": ["string", "array"],
    "description": "The conversation before it: a text, or messages with role and content.",
}
_DOCUMENTS = {
    "type": "array",
    "items": {"type": ["string", "object"]},
    "description": "The candidates: texts, or objects with text and perhaps id.",
}
_TASKS = "vedette.tasks"
_API = "vedette.api"
_HERE = "vedette.serve.verbs"

_ALL = (
    Verb(
        name="classify",
        built_by=f"{_TASKS}.classifier:classifier",
        refused={"calibrations": "give them as thresholds"},
    ),
    Verb(
        name="decide",
        built_by=f"{_TASKS}.decide:Decide",
        hidden=frozenset({"digits"}),
        refused={"ask": "give questions"},
    ),
    Verb(name="sentiment", built_by=f"{_API}:Sentiment"),
    Verb(name="tag", built_by=f"{_API}:Tag"),
    Verb(name="triage", built_by=f"{_API}:Triage"),
    Verb(name="metadata", built_by=f"{_API}:Metadata"),
    Verb(
        name="route",
        built_by=f"{_API}:Route",
        form=ItemForm(
            columns={"input": {**STRING, "description": "The text that the task is about."}}
        ),
    ),
    Verb(
        name="extract",
        built_by=f"{_HERE}.builders:extract",
        refused={"fields": "give them as schema", "verbatim": "mark the fields x-verbatim"},
    ),
    Verb(
        name="form",
        built_by=f"{_HERE}.builders:form",
        options_of=f"{_TASKS}.form:FillForm",
        hidden=frozenset({"known_column"}),
        refused={"known_field": "what is known of an input stands in it, under known"},
        form=ItemForm(
            columns={"known": {"type": "object", "description": "What is known of this one."}}
        ),
    ),
    Verb(name="tool", built_by=f"{_TASKS}.tool:CallTools"),
    Verb(name="command", built_by=f"{_TASKS}.command:WriteCommand"),
    Verb(name="config-text", built_by=f"{_TASKS}.config_text:WriteConfig"),
    Verb(
        name="sql",
        built_by=f"{_HERE}.sql:asking",
        refused={
            "database": f"{_FILE}; give its CREATE statements as tables",
            "rows": "there are none here: run the statement where your database is",
            "values": "there are none here",
        },
    ),
    Verb(
        name="redact",
        built_by=f"{_HERE}.redact:Redaction",
        options_of="vedette.redacting:redact",
        hidden=frozenset({"text", "patterns", "placeholders", "model"}),
        refused={
            "patterns": _REGEX,
            "vault": f"{_FILE}; the answer has the mapping",
            "names": "give entities: person, address, organisation",
        },
    ),
    Verb(
        name="guard",
        built_by=f"{_HERE}.builders:guard",
        refused={"allow": _REGEX, "policy": "give policies"},
    ),
    Verb(
        name="compress",
        built_by=f"{_API}:Compress",
        hidden=frozenset({"tokenizer"}),
        refused={
            "tokenizer": f"{_FILE}; tokens are counted by the model that answers",
            "rules_only": "leave out model_share and how, and no model is asked",
        },
    ),
    Verb(name="summarise", built_by=f"{_API}:Summarise"),
    Verb(
        name="rewrite",
        built_by=f"{_HERE}.builders:rewrite",
        refused={"mode": "give modes", "history": "it stands in the input, under history"},
        form=ItemForm(columns={"history": _CHAT}, history="history"),
    ),
    Verb(
        name="rerank",
        built_by=f"{_TASKS}.rerank:Rerank",
        hidden=frozenset({"documents_column"}),
        form=ItemForm(text="query", columns={"documents": _DOCUMENTS}, needed=("documents",)),
    ),
    Verb(name="commit", built_by=f"{_API}:Commit"),
    Verb(name="pr", built_by=f"{_API}:PullRequest"),
    Verb(name="changelog", built_by=f"{_API}:ChangelogEntry"),
    Verb(
        name="clean",
        built_by=f"{_TASKS}.clean:Clean",
        form=ItemForm(any_column=True),
    ),
    Verb(
        name="dedupe",
        built_by=f"{_HERE}.dedupe:Dedupe",
        options_of=f"{_API}.duplicates:dedupe",
        hidden=frozenset({"rows", "model", "backend"}),
        form=ItemForm(any_column=True),
        together=True,
    ),
)

VERBS: Mapping[str, Verb] = {verb.name: verb for verb in _ALL}


def find_verb(name: str) -> Verb:
    """The task of this name. Raises `InputError` with the nearest one."""
    if name in VERBS:
        return VERBS[name]
    meant = nearest(name, VERBS)
    hint = f"did you mean {meant}?" if meant else f"the tasks are {', '.join(VERBS)}"
    raise InputError(f"there is no task {name!r}", hint=hint)
