"""An answer that is held to its form: asked for again, a few times, while it is not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from vedette.errors import ConstraintFailed, InputTooLong
from vedette.types import Completion, Message, Prompt, Request

from .answer_form import AnswerForm
from .prompt_texts import text_of

MOST_REPAIRS = 2
SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Held:
    """An answer that keeps to its form, and how often the model was asked again for it."""

    completion: Completion
    n_repairs: int


async def held_answer(
    request: Request,
    form: AnswerForm,
    ask: Callable[[Request], Awaitable[Completion]],
    *,
    is_wrapped: bool,
) -> Held:
    """Ask, and ask again with what was wrong, at most `MOST_REPAIRS` times.

    The usage is that of all tries. Raises `ConstraintFailed` with the last fault, and what `ask`
    raises. A prompt that is raw text is asked once: there is no turn to answer in.
    """
    most = 0 if request.prompt.raw is not None or request.prompt.prefill else MOST_REPAIRS
    reply = await ask(request)
    usage = reply.usage
    for n_repairs in range(most + 1):
        text, fault = form.read(reply.text, is_wrapped=is_wrapped)
        if fault is None:
            done = replace(reply, text=text, finish_reason="stop", usage=usage, report=form.report)
            return Held(done, n_repairs)
        failed = _failed(str(fault), reply, n_repairs)
        if n_repairs == most:
            raise failed
        asked = replace(request, prompt=_with_turns(request.prompt, reply.text, str(fault), form))
        try:
            reply = await ask(asked)
        except InputTooLong as error:
            raise failed from error
        usage += reply.usage
    raise AssertionError("the last try either answers or raises")


def _failed(fault: str, reply: Completion, n_repairs: int) -> ConstraintFailed:
    cut = reply.finish_reason == "length"
    tries = f", asked {n_repairs + 1} times" if n_repairs else ""
    shown = " ".join(reply.text.split())[:SHOWN_CHARACTERS]
    return ConstraintFailed(
        f"the server's answer breaks its constraint{tries}: {fault}"
        f"{'; it was cut at its most tokens' if cut else ''}; it begins {shown!r}",
        hint="allow more tokens" if cut else "simplify the constraint, or use --backend local",
    )


def _with_turns(prompt: Prompt, answer: str, fault: str, form: AnswerForm) -> Prompt:
    """The prompt, the wrong answer, and what is wrong with it."""
    asking = text_of("repair", fault=fault, requirement=form.requirement)
    turns = (Message("assistant", answer), Message("user", asking))
    return replace(prompt, messages=(*prompt.messages, *turns))
