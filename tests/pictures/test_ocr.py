"""Text off drawn pictures, by the real reader, without a network."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

pytest.importorskip("PIL")
pytest.importorskip("rapidocr")
pytest.importorskip("onnxruntime")

import numpy as np
from drawn import encoded, receipt
from PIL import Image

from vedette.errors import CapabilityMissing, EngineFailed
from vedette.pictures import Ocr, checked
from vedette.pictures import ocr as ocr_module


@pytest.fixture(scope="module")
def ocr() -> Ocr:
    return Ocr()


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_a_receipt_is_read_row_by_row_with_its_confidence(ocr):
    page = ocr.read(checked(encoded(receipt()), "a"))
    rows = page.text.split("\n")
    assert len(rows) == 6
    assert rows[0] == "CORNER BOOKSHOP"
    assert "2026-03-14" in rows[2]
    assert rows[3].replace(" ", "") == "Atlasofrivers18.50"
    assert rows[5] == "TOTAL  19.70"
    assert page.confidence is not None
    assert 0.9 < page.confidence <= 1
    assert all(0.5 <= line.confidence <= 1 and len(line.corners) == 4 for line in page.lines)


def test_a_picture_on_its_side_is_read_as_exif_says(ocr):
    exif = Image.Exif()
    exif[0x0112] = 6
    lying = receipt().transpose(Image.Transpose.ROTATE_90)
    page = ocr.read(checked(encoded(lying, "JPEG", exif=exif, quality=95), "a"))
    assert "TOTAL  19.70" in page.text


def test_colours_reach_the_reader_in_the_right_order(ocr):
    image = receipt((("TOTAL 19.70", ""),))
    red = Image.composite(
        Image.new("RGB", image.size, "red"),
        image,
        image.convert("L").point(lambda value: 255 if value < 128 else 0),
    )
    assert "19.70" in ocr.read(checked(encoded(red), "a")).text


@pytest.mark.parametrize("size", [(10, 20), (30, 30)])
def test_a_small_picture_with_text_is_read_at_its_place(ocr, size):
    left, top = size
    strip = receipt((("TOTAL", ""),)).crop((20 - left, 24 - top, 120, 56))
    (line,) = ocr.read(checked(encoded(strip), "a")).lines
    assert line.text == "TOTAL"
    assert abs(line.corners[0][0] - left) < 8


def test_strips_are_padded_and_ordinary_pictures_are_not():
    for height, width in ((3, 400), (400, 3), (1, 1), (2, 16_000)):
        padded = ocr_module._padded(np.zeros((height, width, 3), np.uint8))
        assert min(padded.shape[:2]) >= max(320, max(height, width) / 8)
        assert padded[:height, :width].max() == 0
        assert padded.size - (padded == 255).sum() == height * width * 3
    assert ocr_module._padded(np.zeros((3000, 460, 3), np.uint8)).shape == (3000, 460, 3)


@pytest.mark.parametrize("size", [(1, 1), (3, 400), (400, 3), (64, 64)])
def test_a_picture_without_text_is_an_empty_page(ocr, size):
    page = ocr.read(checked(encoded(Image.new("RGB", size, "white")), "a"))
    assert page.text == ""
    assert page.confidence is None


def test_unsure_lines_are_counted_and_left_out(ocr, monkeypatch):
    monkeypatch.setattr(ocr_module, "MIN_CONFIDENCE", 1.01)
    page = ocr.read(checked(encoded(receipt()), "a"))
    assert page.text == ""
    assert page.n_unsure >= 6


def test_a_failure_of_the_reader_is_an_error_of_its_picture(monkeypatch):
    one = Ocr()

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(one, "_engine", broken)
    with pytest.raises(EngineFailed, match="OCR failed: out of memory"):
        one.read(checked(encoded(receipt()), "a"))


def test_without_the_reader_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(ocr_module, "find_spec", lambda _name: None)
    with pytest.raises(CapabilityMissing, match="PIL, rapidocr, onnxruntime") as caught:
        Ocr()
    assert caught.value.hint == "pip install 'vedette[pictures]'"


def test_looking_for_the_reader_does_not_load_it():
    code = (
        "import sys; from vedette.pictures.ocr import check_ocr; check_ocr();"
        "print([m for m in ('onnxruntime', 'cv2', 'rapidocr', 'httpx2') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
