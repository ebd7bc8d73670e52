"""What the model is asked of a piece of a text. It never sees what a rule has found."""

from __future__ import annotations

from itertools import zip_longest

from vedette.decide.question import YES_NO
from vedette.tasks.prompt_data import fill, prompt_of, text_of
from vedette.types import EmbedRequest, Message, Prompt, ScoreRequest

from .policy import Policy


def opening(policy: Policy) -> tuple[Message, ...]:
    """What all pieces of all texts share: what is looked for, and texts with their answers."""
    system = fill(text_of("guard", "system"), description=policy.description)
    yes, no = YES_NO
    turns = [Message("system", system)]
    for pair in zip_longest(policy.examples, policy.counterexamples):
        for text, answer in zip(pair, (yes, no), strict=True):
            if text is not None:
                turns += [Message("user", _ask(text, policy)), Message("assistant", answer)]
    return tuple(turns)


def request_for(text: str, policy: Policy, before: tuple[Message, ...]) -> ScoreRequest:
    """Whether a policy applies to a text. `before` is the policy's `opening`."""
    return ScoreRequest(
        prompt=Prompt(
            (*before, Message("user", _ask(text, policy))),
            shared_messages=len(before),
        ),
        choices=YES_NO,
    )


def place_request(text: str, prompt: str) -> EmbedRequest:
    """What the model expects after a text, under the prompt of a probe."""
    return EmbedRequest(prompt=prompt_of(prompt, text))


def _ask(text: str, policy: Policy) -> str:
    return fill(text_of("guard", "text"), text=text, question=policy.question)
