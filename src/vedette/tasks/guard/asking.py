"""What the model is asked of a piece of a text. It never sees what a rule has found."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.decide.question import YES_NO
from vedette.tasks.prompt_data import fill, load_prompt, text_of
from vedette.types import Message, Prompt, ScoreRequest

from .policy import Policy


def system_turn(policies: Sequence[Policy]) -> Message:
    """What all pieces of all texts share: the policies, with texts for and against."""
    blocks = [
        fill(
            text_of("guard", "policy"),
            id=policy.id,
            description=policy.description,
            yes="\n".join(f"- {one}" for one in policy.examples),
            no="\n".join(f"- {one}" for one in policy.counterexamples),
        )
        for policy in policies
    ]
    return Message("system", "\n".join([text_of("guard", "system"), *blocks]))


def request_for(text: str, policy: Policy, system: Message) -> ScoreRequest:
    """Whether a policy applies to a text; requests for several policies share the text."""
    before = fill(text_of("guard", "text"), text=text)
    return ScoreRequest(
        prompt=Prompt(
            (system, Message("user", before + policy.question)),
            shared_messages=1,
            shared_chars=len(before),
        ),
        choices=YES_NO,
    )


def content_free() -> Sequence[str]:
    """Texts that say nothing."""
    return load_prompt("guard")["content_free"]
