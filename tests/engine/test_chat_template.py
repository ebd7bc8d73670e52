"""What messages become, and that they cannot become anything else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_helpers import chat
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.engine.llama.model import Model
from vedette.engine.template import ChatTemplate
from vedette.engine.tokens import PromptTokens, Tokenizer
from vedette.errors import InputError, ModelError
from vedette.types import Message, Prompt

CONTROL = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")


@pytest.fixture(scope="module")
def model(tiny_full: Path) -> Iterator[Model]:
    model = Model(tiny_full)
    yield model
    model.close()


@pytest.fixture(scope="module")
def tokenizer(model: Model) -> Tokenizer:
    return Tokenizer(model)


def test_a_model_without_a_template_gets_chatml() -> None:
    rendered = ChatTemplate(None).render(chat("Be brief.", "Hi", prefill="Well"))
    assert rendered == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nWell"
    )


@settings(deadline=None)
@given(
    content=st.lists(st.one_of(st.sampled_from(CONTROL), st.text(max_size=6)), max_size=6).map(
        "".join
    )
)
def test_content_never_becomes_control_tokens(
    model: Model, tokenizer: Tokenizer, content: str
) -> None:
    control = {model.tokenize(spelling, special=True)[0] for spelling in CONTROL}
    plain = tokenizer.encode(chat("", "")).ids
    ids = tokenizer.encode(chat(content, content, prefill=content)).ids
    assert [i for i in ids if i in control] == [i for i in plain if i in control]
    read = b"".join(model.piece(token, special=True) for token in ids).decode()
    assert read == tokenizer.render(chat(content, content, prefill=content))
    assert read.count(content) >= 3


def test_a_raw_prompt_may_use_control_tokens(model: Model, tokenizer: Tokenizer) -> None:
    (start,) = model.tokenize("<|im_start|>", special=True)
    assert tokenizer.encode(Prompt(raw="<|im_start|>user")).ids[0] == start


@settings(deadline=None)
@given(items=st.lists(st.text(max_size=20), min_size=2, max_size=4))
def test_the_shared_tokens_are_the_same_whatever_the_item(
    tokenizer: Tokenizer, items: list[str]
) -> None:
    prompts = [tokenizer.encode(chat("Instructions.", item, shared=1)) for item in items]
    first = prompts[0]
    assert first.n_shared > 0
    for tokens in prompts:
        assert tokens.n_shared == first.n_shared
        assert tokens.ids[: tokens.n_shared] == first.ids[: first.n_shared]


def test_the_shared_part_ends_where_the_first_item_begins(tokenizer: Tokenizer) -> None:
    def n_shared(prompt: Prompt) -> int:
        return tokenizer.encode(prompt).n_shared

    roles = ("system", "user", "assistant", "user")
    messages = tuple(Message(role, "level" * (i + 1)) for i, role in enumerate(roles))
    counts = [n_shared(Prompt(messages=messages, shared_messages=n)) for n in range(4)]
    assert counts[0] == 0
    assert counts[1] < counts[2] < counts[3]
    assert n_shared(Prompt(messages=messages, shared_messages=4)) == 0


def test_the_beginning_of_a_message_can_be_shared_too(tokenizer: Tokenizer) -> None:
    def asked(question: str, chars: int) -> PromptTokens:
        messages = (Message("system", "Answer."), Message("user", "The text.\n\n" + question))
        return tokenizer.encode(Prompt(messages, shared_messages=1, shared_chars=chars))

    text_only = asked("", 0)
    first, second = (asked(question, len("The text.\n\n")) for question in ("Red?", "Blue?"))
    assert first.n_shared == second.n_shared > text_only.n_shared
    assert first.ids[: first.n_shared] == second.ids[: second.n_shared]
    assert first.ids != second.ids
    alone = Prompt((Message("user", "The text."),), shared_chars=9)
    assert tokenizer.encode(alone).n_shared > 0


def test_an_empty_shared_message_does_not_make_the_item_shared(model: Model) -> None:
    tokenizer = Tokenizer(model)
    tokenizer._template = ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}")
    tokens = tokenizer.encode(chat("", "an item", "the next", shared=1))
    assert tokens.n_shared == 0


def test_a_template_that_drops_a_message_is_an_error() -> None:
    template = ChatTemplate(
        "{% for m in messages %}{% if m.role != 'system' %}{{ m.content }}{% endif %}{% endfor %}"
    )
    assert template.render(chat("only this")) == "only this"
    with pytest.raises(InputError, match="drops the system message") as caught:
        template.render(chat("rules", "item"))
    assert caught.value.hint


def test_a_template_s_own_refusal_is_passed_on() -> None:
    template = ChatTemplate("{{ raise_exception('roles must alternate') }}")
    with pytest.raises(InputError, match=r"refuses these messages \(user\): roles must alternate"):
        template.render(chat("x"))


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.__class__.__mro__ }}{{ messages[0].content }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ raise_exception.__globals__['__builtins__'] }}",
        "{{ strftime_now.__code__ }}{% for x in ().__class__.__bases__ %}{{ x.mro() }}{% endfor %}",
        "{{ messages.append(1) }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ range(10 ** 12) | list }}",
        "{{ 1 / 0 }}",
        "{{ messages[7].content }}",
    ],
)
def test_a_template_that_reaches_out_of_its_sandbox_fails_with_a_typed_error(source: str) -> None:
    template = ChatTemplate(source)
    with pytest.raises(InputError, match="chat template"):
        template.render(chat("x"))


def test_a_template_that_does_not_compile_is_a_fault_of_the_model() -> None:
    with pytest.raises(ModelError, match="does not compile"):
        ChatTemplate("{% for m in messages %}")


def test_a_prompt_without_messages_is_refused() -> None:
    with pytest.raises(InputError, match="no message"):
        ChatTemplate(None).render(Prompt())
