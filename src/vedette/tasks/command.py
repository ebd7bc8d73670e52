"""Text to a command line that its program accepts."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from functools import cached_property

from vedette.backends.base import Backend
from vedette.errors import CapabilityMissing, ConstraintFailed
from vedette.types import Answer, Constraint, Item, Json, Request

from .base import Steps
from .budget import check_at_least_1
from .command_grammar import grammar_of
from .command_spec import CommandSpec
from .command_usage import usage
from .prompt_data import fill, prompt_of, text_of, with_instructions
from .reply import check_room, completion_of, cut_of

MAX_TOKENS = 256


@dataclass(frozen=True)
class WriteCommand:
    """Implements `Task`: `{"argv": [...], "command": "..."}` for each text.

    `argv` has the program's name first. `command` is the same as one line for a POSIX shell, each
    word quoted where it must be: `shlex.split(command)` is `argv`. Nothing is run. Raises
    `InputError` for a `max_tokens` that is none.
    """

    spec: CommandSpec
    instructions: str = ""
    max_tokens: int = MAX_TOKENS
    name: str = field(default="command", init=False)

    def __post_init__(self) -> None:
        check_at_least_1("max_tokens", self.max_tokens)

    @cached_property
    def _system(self) -> str:
        text = fill(text_of("command", "system"), usage=usage(self.spec))
        return with_instructions(text, self.instructions)

    @cached_property
    def grammar(self) -> str:
        """All legal command lines, in llguidance's Lark."""
        return grammar_of(self.spec)

    @property
    def identity(self) -> dict[str, Json]:
        """What the answers depend on."""
        return {
            "prompt": self._system,
            "grammar": self.grammar,
            "parameters": {"max_tokens": self.max_tokens},
        }

    def request(self, text: str) -> Request:
        """The request for one text."""
        return Request(
            prompt=prompt_of(self._system, text),
            constraint=Constraint("lark", self.grammar),
            max_tokens=self.max_tokens,
        )

    def steps(self, item: Item, backend: Backend) -> Steps:
        """See `Task.steps`."""
        if not backend.capabilities.can_constrain:
            raise CapabilityMissing("command needs a backend that can constrain its output")
        if not item.text.strip():
            return Answer(value=None, extra={"empty": True})
        request = self.request(item.text)
        check_room(request.prompt, request.max_tokens, backend)
        (result,) = yield [request]
        completion = completion_of(result)
        try:
            argv = shlex.split(completion.text)
        except ValueError as error:
            raise ConstraintFailed(f"the answer is no command line: {error}") from error
        return Answer(
            value={"argv": [*argv], "command": shlex.join(argv)},
            usage=completion.usage,
            extra=cut_of(completion),
        )
