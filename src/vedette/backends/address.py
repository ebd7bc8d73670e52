"""What `--backend` may be: where requests are answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from vedette.errors import InputError

FORMS = (
    "local[:MODEL]",
    "llama-server:URL",
    "llama-server:[PROGRAM@]MODEL",
    "openai:URL[#MODEL]",
)


@dataclass(frozen=True, slots=True)
class InProcess:
    """A model in this process; None is the configured one."""

    model: str | None = None


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A llama-server that somebody else has started."""

    url: str


@dataclass(frozen=True, slots=True)
class OwnServer:
    """A llama-server that is started with vedette and ends with it; None: the program is found."""

    model: str
    program: str | None = None


@dataclass(frozen=True, slots=True)
class OpenAIServer:
    """Anything that speaks OpenAI's protocol. None: the one model that it has."""

    url: str
    model: str | None = None


Address: TypeAlias = InProcess | RunningServer | OwnServer | OpenAIServer


def parse_address(text: str) -> Address:
    """The address that a text means. Raises `InputError` with the forms that there are."""
    kind, _, rest = text.strip().partition(":")
    match kind:
        case "local":
            return InProcess(rest or None)
        case "llama-server":
            return _server(rest, text)
        case "openai":
            url, _, model = rest.partition("#")
            return OpenAIServer(_checked_url(url, text), model or None)
    if kind in ("http", "https"):
        raise _refused(text, f"say what answers there: llama-server:{text} or openai:{text}")
    raise _refused(text, f"it must be one of {', '.join(FORMS)}")


def _server(rest: str, text: str) -> RunningServer | OwnServer:
    if rest.startswith(("http://", "https://")):
        return RunningServer(_checked_url(rest, text))
    program, at, model = rest.rpartition("@")
    if not model or (at and not program):
        raise _refused(text, "a URL, or the model that is to be served, goes after llama-server:")
    return OwnServer(model, program or None)


def _checked_url(url: str, text: str) -> str:
    """The URL without a slash at its end. Raises `InputError` for what is none."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise _refused(text, f"{url!r} is not a URL: {error}") from error
    if parts.scheme not in ("http", "https") or not host:
        raise _refused(text, "a URL begins with http:// or https:// and names a host")
    if parts.username or parts.password:
        raise InputError(
            "the backend's URL holds a user name or password",
            hint="put the key into VEDETTE_API_KEY or OPENAI_API_KEY",
        )
    if parts.query or parts.fragment:
        raise _refused(text, "the URL must have no query and no fragment")
    return url.rstrip("/")


def _refused(text: str, hint: str) -> InputError:
    return InputError(f"{text!r} is no backend", hint=hint)
