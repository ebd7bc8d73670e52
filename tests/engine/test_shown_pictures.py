"""Pictures in prompts, by a tiny random projector: shown as llama.cpp shows them, and shared."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from engine_helpers import (
    WAIT_S,
    answer,
    answers,
    ask,
    assert_nothing_leaked,
    assert_same_but_for_ties,
    small_options,
    wait_until_idle,
)
from numpy.typing import NDArray

pytest.importorskip("PIL")

from llama_cpp import mtmd_cpp as mtmd
from PIL import Image

from tiny_gguf import build_tiny
from tiny_mmproj import N_PATCHES, build_mmproj
from vedette.engine.core import EngineCore
from vedette.engine.llama.context import Context, ContextSpec
from vedette.engine.llama.model import Model
from vedette.engine.llama.vision import Projector
from vedette.engine.sight import Sight, ids_of
from vedette.errors import CapabilityMissing, InputError, PictureError
from vedette.pictures.content import joined
from vedette.pictures.loading import checked
from vedette.types import EmbedRequest, Message, Picture, Prompt, Request, ScoreRequest

TOLERANCE = 2e-3
FELT = 0.2  # a picture that changed nothing would equal anything
FORMS = [("full", "mlp"), ("sliding", "gemma3"), ("sliding", "mlp"), ("recurrent", "mlp"),
         ("hybrid", "mlp"), ("full", "gemma3")]  # fmt: skip
BEFORE, AFTER = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"


def picture(seed: int, size: tuple[int, int] = (32, 32)) -> Picture:
    """Coloured noise."""
    random = np.random.default_rng(seed)
    values = random.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    out = BytesIO()
    Image.fromarray(values).save(out, "PNG")
    return checked(out.getvalue(), "noise")


CAT, DOG, EEL = (picture(seed) for seed in (1, 2, 3))


def said(*parts: str | Picture, **fields) -> Prompt:
    """A user's turn of texts and pictures."""
    text, placed = joined(parts)
    return Prompt(messages=(Message("user", text, pictures=placed),), **fields)


def generate(*parts: str | Picture, **fields) -> Request:
    return Request(prompt=said(*parts), **{"max_tokens": 12, "logprobs": True, **fields})


@pytest.fixture(scope="module")
def projectors(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("mmproj")
    return {kind: build_mmproj(folder / f"{kind}.gguf", kind) for kind in ("mlp", "gemma3")}


@pytest.fixture
def seeing(tiny_full, projectors):
    """An engine whose model sees."""
    with EngineCore(tiny_full, small_options(mmproj=projectors["mlp"])) as engine:
        yield engine


def logits(engine: EngineCore, prompt: Prompt) -> NDArray[np.float32]:
    """Those that follow a prompt: of the tiny models a place holds all of them."""
    found = engine.submit(EmbedRequest(prompt=prompt)).result(WAIT_S).vector
    return np.array(found, np.float32)


def by_helper(path: Path, projector: Path, text: str, *pictures: Picture) -> NDArray[np.float32]:
    """The logits that mtmd's own way of evaluating gives, on a context of its own."""
    model = Model(path)
    opened = Projector(model, projector, threads=1)
    spec = ContextSpec(cells=512, n_seq=2, batch_tokens=256, n_outputs=8, kv_type="f32")
    context = Context(model, spec)
    chunks = mtmd.mtmd_input_chunks_init()
    bitmaps = (mtmd.mtmd_bitmap_p_ctypes * len(pictures))()
    for i, each in enumerate(pictures):
        values = np.asarray(Image.open(BytesIO(each.data)).convert("RGB"), np.uint8).copy()
        data = values.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        bitmaps[i] = mtmd.mtmd_bitmap_init(each.width_px, each.height_px, data)
    try:
        raw = text.encode()
        asked = mtmd.mtmd_input_text(raw, len(raw), False, True)
        assert not mtmd.mtmd_tokenize(
            opened._pointer, chunks, ctypes.byref(asked), bitmaps, len(pictures)
        )
        end = ctypes.c_int32()
        status = mtmd.mtmd_helper_eval_chunks(
            opened._pointer, context.pointer, chunks, 0, 0, 256, True, ctypes.byref(end)
        )
        assert status == 0
        return context.logits(1)[0].copy()
    finally:
        for bitmap in bitmaps:
            mtmd.mtmd_bitmap_free(bitmap)
        mtmd.mtmd_input_chunks_free(chunks)
        context.close()
        opened.close()
        model.close()


@pytest.mark.parametrize(("kind", "form"), FORMS)
def test_logits_are_those_of_mtmds_own_helper(tiny_models, projectors, kind, form):
    options = small_options(mmproj=projectors[form], kv_type="f32", batch_tokens=64)
    with EngineCore(tiny_models[kind], options) as engine:
        found = logits(engine, said("what is ", CAT, " on the server?"))
        other = logits(engine, said("what is ", DOG, " on the server?"))
        again = logits(engine, said("what is ", CAT, " on the server?"))
        three = logits(engine, said("a ", CAT, DOG, " in the ", EEL, "?"))
    text = f"{BEFORE}what is <__media__> on the server?{AFTER}"
    expected = by_helper(tiny_models[kind], projectors[form], text, CAT)
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)
    np.testing.assert_allclose(again, expected, atol=TOLERANCE)
    assert np.abs(found - other).max() > FELT
    text = f"{BEFORE}a <__media__><__media__> in the <__media__>?{AFTER}"
    expected = by_helper(tiny_models[kind], projectors[form], text, CAT, DOG, EEL)
    np.testing.assert_allclose(three, expected, atol=TOLERANCE)


@pytest.mark.parametrize("batch_tokens", [1, 5, 16])
def test_a_picture_may_be_cut_into_several_steps(tiny_full, projectors, batch_tokens):
    options = small_options(mmproj=projectors["mlp"], kv_type="f32")
    prompt = said("what is ", CAT, " on the server?")
    with EngineCore(tiny_full, options) as engine:
        expected = logits(engine, prompt)
    with EngineCore(tiny_full, replace(options, batch_tokens=batch_tokens)) as engine:
        np.testing.assert_allclose(logits(engine, prompt), expected, atol=TOLERANCE)
        assert_nothing_leaked(engine)


def test_the_same_picture_again_is_in_the_cache_and_another_is_not(seeing):
    first = answer(seeing, generate("see ", CAT, " and tell"))
    wait_until_idle(seeing)
    again = answer(seeing, generate("see ", CAT, " and tell"))
    other = answer(seeing, generate("see ", DOG, " and tell"))
    n_prompt = first.usage.prompt_tokens
    assert (first.usage.cached_tokens, again.usage.cached_tokens) == (0, n_prompt - 1)
    n_before = seeing.tokenizer.encode(said("see ", CAT, " and tell")).shown[0].start
    assert other.usage.cached_tokens <= n_before
    assert again.text == first.text != other.text
    assert seeing._sight.n_encoded == 2
    assert_nothing_leaked(seeing)


def test_a_shared_beginning_may_hold_a_picture(seeing):
    def asked(text: str) -> Request:
        shown, placed = joined(["rules: ", CAT, " is the map"])
        turns = (Message("system", shown, pictures=placed), Message("user", text))
        return Request(prompt=Prompt(messages=turns, shared_messages=1), max_tokens=4)

    answer(seeing, asked("error"))
    wait_until_idle(seeing)
    second = answer(seeing, asked("warning"))
    encoded = seeing.tokenizer.encode(asked("warning").prompt)
    assert encoded.n_shared > encoded.shown[0].end
    assert second.usage.cached_tokens >= encoded.n_shared


def test_shared_characters_may_have_a_picture_among_them(seeing):
    text, placed = joined(["map ", CAT, " of the level", " question"])
    n_shared = len("map  of the level")
    prompt = Prompt(messages=(Message("user", text, pictures=placed),), shared_chars=n_shared)
    encoded = seeing.tokenizer.encode(prompt)
    (shown,) = encoded.shown
    behind = seeing.tokenizer.encode_text(" of the level")
    assert encoded.n_shared == shown.end + len(behind)
    assert encoded.ids[shown.end : encoded.n_shared] == behind


def test_pictures_beside_texts_are_answered_as_alone(tiny_full, projectors):
    options = small_options(mmproj=projectors["mlp"], width=6)
    requests = [
        generate("see ", CAT, " and tell"),
        ask("the server failed", max_tokens=12, logprobs=True),
        generate("compare ", CAT, DOG),
        ask("connection error level", max_tokens=12, logprobs=True),
        generate("see ", EEL, " and tell"),
    ]
    requests[2] = generate("compare ", CAT, DOG, " now")
    alone = []
    for request in requests:
        with EngineCore(tiny_full, options) as engine:
            alone.append(answer(engine, request))
    with EngineCore(tiny_full, options) as engine:
        for left, right in zip(answers(engine, requests), alone, strict=True):
            assert_same_but_for_ties(left, right)
        assert_nothing_leaked(engine)


def test_guesses_stop_at_a_picture(seeing):
    """What stood before is guessed again, up to where no token stands."""
    parts = ["error error ", CAT, " error error ", DOG, " error error error"]
    plain = answer(seeing, generate(*parts, max_tokens=40, speculate="off"))
    guessed = answer(seeing, generate(*parts, max_tokens=40, speculate="ngram:8"))
    assert_same_but_for_ties(plain, guessed)
    assert guessed.speculation.guessed > 0


def test_choices_are_scored_after_a_picture(seeing):
    choices = ("positive", "negative", "neutral error")

    def scores(shown: Picture) -> tuple[float, ...]:
        asked = ScoreRequest(prompt=said("rate ", shown, " now"), choices=choices)
        return seeing.submit(asked).result(WAIT_S).logprobs

    np.testing.assert_allclose(scores(CAT), scores(CAT), atol=0.02)
    assert np.abs(np.array(scores(CAT)) - scores(DOG)).max() > 0.05
    assert_nothing_leaked(seeing)


def test_without_a_projector_a_picture_is_refused(tiny_full):
    with EngineCore(tiny_full, small_options()) as engine:
        assert not engine.sees
        with pytest.raises(CapabilityMissing, match="no vision projector"):
            engine.submit(generate("see ", CAT))


def test_a_prompt_must_not_end_with_a_picture(tmp_path, projectors):
    bare = "{% for m in messages %}{{ m.content }}{% endfor %}"
    path = build_tiny("full", tmp_path / "bare.gguf", template=bare)
    with EngineCore(path, small_options(mmproj=projectors["mlp"])) as engine:
        with pytest.raises(InputError, match="ends with a picture"):
            engine.submit(generate("see ", CAT))
        assert answer(engine, generate("see ", CAT, " it")).text


def test_a_template_that_wants_parts_is_given_parts(tmp_path, projectors):
    """As those of some vision models do."""
    template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% for part in m.content %}"
        "{% if part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}<|im_end|>\n"
        "{% endfor %}<|im_start|>assistant\n"
    )
    path = build_tiny("full", tmp_path / "parts.gguf", template=template)
    with EngineCore(path, small_options(mmproj=projectors["mlp"])) as engine:
        rendered = engine.tokenizer.render(said("see ", CAT, " it"))
    assert f"{rendered}\n" == f"{BEFORE}see [picture, 32 x 32, {CAT.sha256[:12]}] it{AFTER}"


def test_pictures_of_any_shape_are_shown_but_for_endless_ones(seeing):
    for number, size in enumerate([(1, 1), (3, 500), (640, 20), (200, 1)]):
        assert answer(seeing, generate("see ", picture(number, size), " it")).text
    with pytest.raises(PictureError, match="too long to be shown"):
        seeing.submit(generate("see ", picture(9, (201, 1)), " it"))


def test_what_is_remembered_has_a_bound(tiny_full, projectors):
    model = Model(tiny_full)
    sight = Sight(Projector(model, projectors["mlp"], threads=1), most_bytes=2 * N_PATCHES * 64 * 4)
    try:
        first = sight.parts(CAT)
        assert sight.parts(CAT) is first
        sight.parts(DOG)
        assert sight.parts(CAT) is first
        sight.parts(EEL)  # the dog goes
        assert sight.n_encoded == 3
        sight.parts(CAT)
        assert sight.n_encoded == 3
        sight.parts(DOG)
        assert sight.n_encoded == 4
    finally:
        sight.close()
        model.close()


def test_places_of_pictures_have_numbers_of_their_own():
    cat, dog = [*ids_of(CAT, 0, 20)], [*ids_of(DOG, 0, 20)]
    assert all(number < 0 for number in (*cat, *dog))
    assert len({*cat, *dog}) == 40
    assert [*ids_of(CAT, 0, 5), *ids_of(CAT, 5, 15)] == cat
