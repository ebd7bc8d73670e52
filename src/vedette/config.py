"""What a user can set, where each value came from, and what is wrong with it.

Order: flag > `VEDETTE_*` variable > `vedette.toml` > default. `load` is the way in; it turns every
mistake into one sentence.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, cast

import platformdirs
import psutil
from pydantic import BeforeValidator, Field, PrivateAttr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from vedette.errors import FileError, InputError

ENV_PREFIX = "VEDETTE_"
CONFIG_VARIABLE = "VEDETTE_CONFIG"
API_KEY_VARIABLE = "VEDETTE_API_KEY"
VAULT_KEY_VARIABLE = "VEDETTE_VAULT_KEY"
SERVE_API_KEY_VARIABLE = "VEDETTE_SERVE_API_KEY"
"""These three hold secrets and are no settings: they are in no file, and never shown."""
DEFAULT_FILE = "vedette.toml"
_WORDS = tuple(
    (re.compile(theirs), ours)
    for theirs, ours in (
        ("^Field required$", "it is missing"),
        ("^(Input|Value|String|List|Dictionary) should", "it should"),
        (" after validation", ""),
        ("be a valid dictionary( or (object to extract|instance of) .*)?$", "be an object"),
        ("be a valid list$", "be a list"),
    )
)
SECTIONS = ("gateway",)
"""Tables of the file that are no settings; who needs one asks for it with `section`."""

KvType: TypeAlias = Literal["f16", "bf16", "f32", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"]
T = TypeVar("T")


def _none_if_auto(value: object) -> object:
    return None if value == "auto" else value


def _expand_home(value: object) -> object:
    return os.path.expanduser(value) if isinstance(value, str) else value


# TOML and the environment have no null, so `auto` is how they undo a value set further down.
Auto: TypeAlias = Annotated[T | None, BeforeValidator(_none_if_auto)]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from; `where` is the variable's name or the file's path."""

    kind: Literal["flag", "environment", "file", "default"]
    where: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.where}".rstrip()


class Settings(BaseSettings):
    """All settings, immutable. Made by `load`; vary one with `model_copy(update=...)`."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, env_ignore_empty=True, extra="forbid", frozen=True
    )

    home: Annotated[Path, BeforeValidator(_expand_home)] = Field(
        default_factory=lambda: platformdirs.user_cache_path("vedette"),
        description="Folder for model weights and everything else that is kept.",
    )
    model: str = Field(
        default="qwen2.5-coder-0.5b",
        min_length=1,
        description="Model that answers: a registry name, `hf:user/repo:QUANT`, or a path.",
    )
    backend: str = Field(
        default="local",
        min_length=1,
        description=(
            "Who answers: `local`, `llama-server:URL`, `llama-server:[PROGRAM@]MODEL` or "
            "`openai:URL#MODEL`."
        ),
    )
    threads: Auto[int] = Field(
        default=None, ge=1, description="CPU threads; `auto` is one for each physical core."
    )
    width: int = Field(
        default=8, ge=1, le=256, description="Most sequences in one batch, or requests at once."
    )
    context_tokens: Auto[int] = Field(
        default=None,
        ge=64,
        description="KV cache cells; `auto` is what the job needs and memory allows.",
    )
    batch_tokens: int = Field(default=512, ge=1, description="Most tokens in one decode step.")
    kv_type: KvType = Field(default="f16", description="Type of the KV cache's numbers.")
    tuned: bool = Field(
        default=True,
        description="Use the copy of a model that `vedette tune` made, if there is one.",
    )
    draft: Auto[str] = Field(
        default=None,
        min_length=1,
        description="A smaller model of the same vocabulary that may guess tokens; `auto` is none.",
    )
    mmproj: Auto[str] = Field(
        default=None,
        min_length=1,
        description=(
            "The model's vision projector, a path; `auto` is the `mmproj*.gguf` beside the model, "
            "`none` is without."
        ),
    )
    speculate: str = Field(
        default="auto",
        description="Who guesses tokens: `auto`, `off`, `ngram:N`, `draft:N` or `drawn:N`.",
    )
    lora: str = Field(
        default="",
        description=(
            "LoRA adapters that jobs are answered under, and that `serve` has ready: "
            "`NAME=PATH[:SCALE]`, several separated by commas."
        ),
    )
    offline: bool = Field(default=False, description="Never use the network.")
    max_queue: int = Field(
        default=1024, ge=1, description="Most requests waiting in an engine; more are refused."
    )

    timeout_s: float = Field(
        default=600.0, gt=0, description="Seconds that a server may take for one answer."
    )

    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address that `serve` listens on; others than this machine's need an API key.",
    )
    port: int = Field(
        default=9931, ge=0, le=65535, description="Port that `serve` listens on; 0 is any free one."
    )
    max_requests: int = Field(
        default=64, ge=1, description="Most answers of `serve` under way or waiting."
    )
    max_body_bytes: int = Field(
        default=4 * 1024 * 1024, ge=1, description="Largest body of a request to `serve`."
    )
    adapters_dir: Annotated[Auto[Path], BeforeValidator(_expand_home)] = Field(
        default=None,
        description="Folder of adapters that clients of `serve` may add; `auto` is none.",
    )
    keys_file: Annotated[Auto[Path], BeforeValidator(_expand_home)] = Field(
        default=None,
        description="API keys of `serve`, as `vedette keys` writes them; `auto` is in `home`.",
    )
    files_dir: Annotated[Auto[Path], BeforeValidator(_expand_home)] = Field(
        default=None,
        description="Folder for the files and batches of `serve`; `auto` is one among your data.",
    )
    max_file_bytes: int = Field(
        default=256 * 1024 * 1024, ge=1, description="Largest file sent to `serve`."
    )
    max_files_bytes: int = Field(
        default=4 * 1024 * 1024 * 1024,
        ge=1,
        description="Most bytes of all files of `serve` together; then no more are taken in.",
    )

    _origins: dict[str, Origin] = PrivateAttr(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flag, then environment, then `vedette.toml`; nothing else is read."""
        return init_settings, env_settings, _SettingsOfFile(settings_cls, toml_file=config_file())

    @property
    def thread_count(self) -> int:
        """Threads to use: as set, or the physical cores that this process may run on."""
        return self.threads or usable_cores()

    @property
    def keys_path(self) -> Path:
        """Where the API keys of `serve` are kept."""
        return self.keys_file or self.home / "keys.json"

    def origin(self, name: str) -> Origin:
        """Where the value of the setting `name` came from."""
        return self._origins.get(name, Origin("default"))


class _SettingsOfFile(TomlConfigSettingsSource):
    """What of the file is settings."""

    def _read_file(self, file_path: Any) -> dict[str, Any]:
        values = super()._read_file(file_path)
        return {name: value for name, value in values.items() if name not in SECTIONS}


def load(**flags: object) -> Settings:
    """Read all settings. A flag that is None was not given.

    Raises `InputError` for an unknown name or a wrong value, `FileError` for a configuration file
    that cannot be read.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    _refuse_unknown(given, valid=names(), what="setting")
    variables = _environment()
    path = config_file()
    in_file = _file_values(path)
    origins = dict.fromkeys(in_file, Origin("file", str(path)))
    origins |= {name: Origin("environment", variable) for name, variable in variables.items()}
    origins |= dict.fromkeys(given, Origin("flag"))
    try:
        settings = Settings(**cast(dict[str, Any], given))
    except ValidationError as error:
        raise _explain(error, origins) from None
    settings._origins = origins
    return _beside_file(settings, path)


def section(name: str) -> dict[str, object] | None:
    """The table `name` (one of `SECTIONS`) of the configuration file; None if there is none.

    Raises `FileError` for a file that cannot be read, `InputError` where it is no table.
    """
    path = config_file()
    value = _content(path).get(name)
    if value is not None and not isinstance(value, dict):
        raise InputError(f"{name} in {path} is {value!r}; it must be a table: [{name}]")
    return value


def names() -> tuple[str, ...]:
    """The names of all settings, in the order in which they are shown."""
    return tuple(Settings.model_fields)


def config_file() -> Path:
    """`VEDETTE_CONFIG`, or `vedette.toml` in the working directory; it need not exist."""
    return Path(os.environ.get(CONFIG_VARIABLE) or DEFAULT_FILE).expanduser().absolute()


def usable_cores() -> int:
    """Physical cores, but no more than the CPUs that this process may run on."""
    physical = psutil.cpu_count(logical=False) or 1
    if hasattr(os, "sched_getaffinity"):
        return max(1, min(physical, len(os.sched_getaffinity(0))))
    return physical


def plainly(problem: str) -> str:
    """What Pydantic says of a value, in the words of the project: no names of Python's types."""
    for theirs, ours in _WORDS:
        problem = theirs.sub(ours, problem)
    return problem


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """The valid name that `name` was probably meant to be."""
    matches = difflib.get_close_matches(name, list(valid), n=1, cutoff=0.6)
    return matches[0] if matches else None


def _environment() -> dict[str, str]:
    """Setting name -> the variable that sets it. A variable that is set but empty counts as unset.

    Raises `InputError` for a `VEDETTE_` variable that sets nothing.
    """
    variables = [name for name in os.environ if name.upper().startswith(ENV_PREFIX)]
    valid = [ENV_PREFIX + name.upper() for name in names()]
    _refuse_unknown(
        [name.upper() for name in variables],
        valid=[
            *valid,
            CONFIG_VARIABLE,
            API_KEY_VARIABLE,
            VAULT_KEY_VARIABLE,
            SERVE_API_KEY_VARIABLE,
        ],
        what="environment variable",
    )
    found = {name.upper(): name for name in variables if os.environ[name]}
    return {
        name: found[variable]
        for name, variable in zip(names(), valid, strict=True)
        if variable in found
    }


def _file_values(path: Path) -> dict[str, object]:
    """The settings in the file."""
    values = {name: value for name, value in _content(path).items() if name not in SECTIONS}
    _refuse_unknown(values, valid=names(), what="setting", where=f" in {path}")
    return values


def _content(path: Path) -> dict[str, object]:
    """All that the file holds; nothing if it is only the default place and not there."""
    if not path.exists():
        if os.environ.get(CONFIG_VARIABLE):
            raise FileError(
                f"{CONFIG_VARIABLE} names {path}, which does not exist",
                hint=f"Create it, or unset {CONFIG_VARIABLE}.",
            )
        return {}
    try:
        values: dict[str, object] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(f"{path} is not valid TOML: {error}", hint="Mend the file.") from None
    except OSError as error:
        raise FileError(
            f"{path} cannot be read: {error.strerror}", hint="Check its permissions."
        ) from None
    return values


def _refuse_unknown(
    given: Iterable[str], *, valid: Iterable[str], what: str, where: str = ""
) -> None:
    valid = list(valid)
    for name in given:
        if name in valid:
            continue
        meant = nearest(name, valid)
        hint = f"Did you mean {meant}?" if meant else f"Valid are {', '.join(valid)}."
        raise InputError(f"unknown {what} {name}{where}", hint=hint)


def _explain(error: ValidationError, origins: dict[str, Origin]) -> InputError:
    """The first mistake as one sentence that names the place where it was made."""
    first = error.errors(include_url=False, include_context=False)[0]
    name = str(first["loc"][0])
    origin = origins.get(name, Origin("default"))
    place = {
        "environment": origin.where,
        "file": f"{name} in {origin.where}",
    }.get(origin.kind, name)
    problem = plainly(first["msg"])
    about = Settings.model_fields[name].description
    return InputError(f"{place} is {first['input']!r}: {problem}", hint=f"{name}: {about}")


def _beside_file(settings: Settings, path: Path) -> Settings:
    """A relative path in a file is meant from that file's folder, elsewhere from here."""
    found = {}
    for name in ("home", "keys_file", "files_dir", "adapters_dir"):
        value = getattr(settings, name)
        if value is not None:
            base = path.parent if settings.origin(name).kind == "file" else Path.cwd()
            found[name] = Path(os.path.normpath(base / value))
    return settings.model_copy(update=found)
