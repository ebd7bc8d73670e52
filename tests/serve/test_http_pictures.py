"""Pictures over HTTP: shown to a model that sees, read for one that does not."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator

import httpx2
import numpy as np
import openai
import pytest
from openai import OpenAI
from served import served

pytest.importorskip("PIL")

from io import BytesIO

from PIL import Image

from tiny_mmproj import N_PATCHES, build_mmproj
from vedette.backends.local import LocalBackend
from vedette.engine.options import EngineOptions
from vedette.errors import CapabilityMissing
from vedette.pictures import Line
from vedette.pictures import ocr as ocr_module
from vedette.pictures.layout import page_of
from vedette.serve.app import create_app
from vedette.serve.options import ServeOptions
from vedette.serve.pictures import HEADER, MOST_PICTURES

OPTIONS = ServeOptions(model="tiny", max_tokens=8)
BOX = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))


class FakeOcr:
    """Finds one line on everything."""

    n_read = 0

    def read(self, picture):
        FakeOcr.n_read += 1
        return page_of([Line("TOTAL 19.70", 0.9, BOX)])


@pytest.fixture(scope="module")
def seeing_url(tiny_full, tmp_path_factory) -> Iterator[str]:
    mmproj = build_mmproj(tmp_path_factory.mktemp("mmproj") / "mmproj.gguf")
    backend = LocalBackend(tiny_full, EngineOptions(threads=1, width=4, mmproj=mmproj))
    with served(create_app(backend, OPTIONS)) as address:
        yield address
    backend.close()


@pytest.fixture
def seeing(seeing_url) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{seeing_url}/v1", api_key="none", max_retries=0) as opened:
        yield opened


@pytest.fixture
def fake_ocr(monkeypatch):
    FakeOcr.n_read = 0
    monkeypatch.setattr(ocr_module, "Ocr", FakeOcr)


def png(seed: int, size: int = 32) -> bytes:
    values = np.random.default_rng(seed).integers(0, 256, (size, size, 3), dtype=np.uint8)
    out = BytesIO()
    Image.fromarray(values).save(out, "PNG")
    return out.getvalue()


def data_url(data: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(data).decode()


def shown(*parts: str | bytes) -> list[dict]:
    """A user's turn in parts."""
    content = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": data_url(part)}}
        for part in parts
    ]
    return [{"role": "user", "content": content}]


def chat(client: OpenAI, messages: list[dict], **fields):
    return client.chat.completions.create(
        model="tiny", messages=messages, max_tokens=6, temperature=0, **fields
    )


def test_a_picture_is_shown_and_that_is_said(seeing):
    reply = chat(seeing, shown("what is this?", png(1)))
    assert reply.model_extra["vedette"] == {
        "pictures": [{"sha256": hashlib.sha256(png(1)).hexdigest(), "read_by": "projector"}]
    }
    without = chat(seeing, [{"role": "user", "content": "what is this?"}])
    assert "vedette" not in (without.model_extra or {})
    n_more = reply.usage.prompt_tokens - without.usage.prompt_tokens
    assert n_more == N_PATCHES
    again = chat(seeing, shown("what is this?", png(1)))
    other = chat(seeing, shown("what is this?", png(2)))
    assert again.choices == reply.choices
    assert other.choices != reply.choices
    assert again.usage.prompt_tokens_details.cached_tokens == reply.usage.prompt_tokens - 1


def test_three_pictures_in_one_chat(seeing):
    talk = [
        *shown("first ", png(1), png(2)),
        {"role": "assistant", "content": "level"},
        *shown("and ", png(3), " now?"),
    ]
    reply = chat(seeing, talk)
    told = reply.model_extra["vedette"]["pictures"]
    assert [one["sha256"] for one in told] == [
        hashlib.sha256(png(seed)).hexdigest() for seed in (1, 2, 3)
    ]
    assert reply.usage.prompt_tokens > 3 * N_PATCHES


def test_a_form_and_a_stream_go_with_pictures(seeing, seeing_url):
    schema = {"type": "object", "properties": {"level": {"enum": ["INFO", "WARN"]}},
              "required": ["level"]}  # fmt: skip
    form = {"type": "json_schema", "json_schema": {"name": "event", "schema": schema}}
    body = {
        "model": "tiny",
        "messages": shown("what is this?", png(1)),
        "response_format": form,
        "max_tokens": 30,
        "temperature": 0,
    }
    whole = httpx2.post(f"{seeing_url}/v1/chat/completions", json=body, timeout=30)
    assert whole.headers[HEADER] == "projector"
    text = whole.json()["choices"][0]["message"]["content"]
    assert json.loads(text)["level"] in ("INFO", "WARN")
    streamed = httpx2.post(
        f"{seeing_url}/v1/chat/completions", json={**body, "stream": True}, timeout=30
    )
    assert streamed.headers[HEADER] == "projector"
    chunks = [
        json.loads(line.removeprefix("data: "))
        for line in streamed.text.splitlines()
        if line.startswith("data: {")
    ]
    assert chunks[0]["vedette"]["pictures"][0]["read_by"] == "projector"
    assert not any("vedette" in chunk for chunk in chunks[1:])
    pieces = [choice["delta"].get("content") or "" for c in chunks for choice in c["choices"]]
    assert "".join(pieces) == text


def test_responses_take_pictures(seeing):
    content = [
        {"type": "input_text", "text": "what is this?"},
        {"type": "input_image", "image_url": data_url(png(1)), "detail": "auto"},
    ]
    reply = seeing.responses.create(
        model="tiny", input=[{"role": "user", "content": content}], max_output_tokens=6
    )
    assert reply.model_extra["vedette"]["pictures"][0]["read_by"] == "projector"
    assert reply.usage.input_tokens > N_PATCHES


WRONG = [
    ("no picture", b"hello, this is text", "is not a picture"),
    ("empty", b"", "is empty"),
    ("truncated", png(1)[:-300], "damaged or cut"),
]


@pytest.mark.parametrize(("name", "data", "why"), WRONG, ids=[one[0] for one in WRONG])
def test_files_that_are_no_pictures_are_refused(seeing, name, data, why):
    with pytest.raises(openai.BadRequestError, match=why) as refused:
        chat(seeing, shown("see", data))
    assert refused.value.code == "invalid_picture"
    assert refused.value.param == "messages.0.content.1.image_url.url"


def test_sixty_million_pixels_are_refused(seeing):
    out = BytesIO()
    Image.new("1", (10_000, 6_000)).save(out, "PNG")
    with pytest.raises(openai.BadRequestError, match="10,000 x 6,000 pixels"):
        chat(seeing, shown("see", out.getvalue()))


@pytest.mark.parametrize(
    ("part", "why"),
    [
        ({"type": "image_url", "image_url": {"url": "/etc/hostname"}}, "no data URL"),
        ({"type": "image_url", "image_url": {"url": "file:///etc/hostname"}}, "no data URL"),
        ({"type": "image_url", "image_url": {"url": "http://127.0.0.1/a.png"}}, "fetches no"),
        ({"type": "image_url", "image_url": {"url": "data:,"}, "text": "x"}, "has a image_url"),
        ({"type": "image_url"}, "has a image_url"),
        ({"type": "image_url", "image_url": {"url": "data:,", "detail": "low"}}, "detail"),
        ({"type": "input_audio", "input_audio": {}}, "texts and pictures only"),
    ],
)
def test_what_is_no_picture_in_the_request_is_refused(seeing, part, why):
    with pytest.raises(openai.BadRequestError, match=why):
        chat(seeing, [{"role": "user", "content": [part]}])


def test_only_the_user_shows_pictures(seeing):
    (turn,) = shown("see", png(1))
    with pytest.raises(openai.BadRequestError, match="only a user's turn"):
        chat(seeing, [{**turn, "role": "system"}, {"role": "user", "content": "x"}])


def test_pictures_are_counted(seeing):
    with pytest.raises(openai.BadRequestError, match=f"may have {MOST_PICTURES}"):
        chat(seeing, shown(*[png(1, 4)] * (MOST_PICTURES + 1)))


def test_without_a_projector_the_text_is_read_and_that_is_said(client, http, fake_ocr):
    reply = chat(client, shown("what is the total?", png(1), png(1)))
    read = {
        "sha256": hashlib.sha256(png(1)).hexdigest(),
        "read_by": "ocr",
        "lines": 1,
        "confidence": 0.9,
        "text": "TOTAL 19.70",
    }
    assert reply.model_extra["vedette"] == {"pictures": [read, read]}
    assert FakeOcr.n_read == 1
    body = {"model": "tiny", "messages": shown("total?", png(1), "now")}
    told = http.post("/apply-template", json={"messages": body["messages"]}).json()["prompt"]
    assert "total?\n[Text on the picture]\nTOTAL 19.70\n[End]\nnow<|im_end|>" in told
    assert http.post("/v1/chat/completions", json=body).headers[HEADER] == "ocr"


def test_without_projector_and_ocr_it_is_one_clear_error(tiny_backend, monkeypatch):
    def missing():
        raise CapabilityMissing("reading pictures needs rapidocr", hint="pip install it")

    monkeypatch.setattr(ocr_module, "Ocr", missing)
    with (
        served(create_app(tiny_backend, OPTIONS)) as url,
        OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
        pytest.raises(openai.APIStatusError, match="no vision projector") as refused,
    ):
        chat(client, shown("see", png(2)))
    assert (refused.value.status_code, refused.value.code) == (501, "capability_missing")
    assert "--mmproj FILE" in str(refused.value)
