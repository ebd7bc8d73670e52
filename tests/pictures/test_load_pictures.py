"""Loading pictures: told by content, checked whole, and never too large to decode."""

from __future__ import annotations

import base64
import hashlib
import socket

import pytest

pytest.importorskip("PIL")

import httpx2
import numpy as np
from drawn import encoded, png_header, receipt, webp_header
from PIL import Image

from vedette.errors import PictureError
from vedette.pictures import loading
from vedette.pictures.fetch import Fetch
from vedette.pictures.loading import checked, load
from vedette.pictures.pixels import bgr_of

KINDS = ("JPEG", "PNG", "WebP", "GIF", "BMP", "TIFF")


@pytest.mark.parametrize("kind", KINDS)
def test_the_content_says_the_format_whatever_the_name(tmp_path, kind):
    path = tmp_path / "picture.dat"
    path.write_bytes(data := encoded(receipt(), kind))
    picture = load(str(path))
    assert picture.format == kind.lower()
    assert picture.media_type == f"image/{kind.lower()}"
    assert (picture.width_px, picture.height_px) == receipt().size
    assert picture.sha256 == hashlib.sha256(data).hexdigest()
    assert picture.data == data


@pytest.mark.parametrize("options", [{"lossless": True}, {"quality": 80}, {"exif": b"Exif\0\0"}])
def test_the_size_of_every_webp_is_read_from_its_header(options):
    picture = checked(encoded(Image.new("RGB", (301, 77), "white"), "WebP", **options), "a")
    assert (picture.width_px, picture.height_px) == (301, 77)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_cut_picture_is_refused(kind, share):
    data = encoded(receipt(), kind)
    with pytest.raises(PictureError, match=r"^a\.x is damaged or cut: "):
        checked(data[: int(len(data) * share)], "a.x")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"hello, this is text", "is not a picture"),
        (b"BM and more text that begins so", "is not a picture"),
        (b"%PDF-1.7 ...", "but a PDF"),
        (b"\0\0\0\x18ftypheic....", "but a HEIC"),
        (b"<svg xmlns=", "but an SVG"),
        (png_header(10_000, 6_000), "has 10,000 x 6,000 pixels; a picture may have 52,000,000"),
        (png_header(200_000, 200_000), "has 200,000 x 200,000 pixels"),
        (webp_header(16_000, 16_000), "has 16,000 x 16,000 pixels"),
        (png_header(30, 30), "is damaged or cut"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 60, "is damaged or cut"),
        (b"\xff\xd8\xff\xe0" + b"\0" * 60, "is damaged or cut"),
        (b"RIFF\0\0\0\0WEBP", "is damaged or cut"),
    ],
)
def test_what_is_no_usable_picture_says_why_and_what_it_is(data, said):
    with pytest.raises(PictureError) as caught:
        checked(data, "a.jpg")
    assert caught.value.message.startswith("a.jpg ")
    assert said in caught.value.message
    assert caught.value.sha256 == hashlib.sha256(data).hexdigest()


def test_sixty_megapixels_are_refused_before_they_are_decoded(monkeypatch):
    monkeypatch.setattr(loading, "check_pixels", lambda *_: pytest.fail("it was decoded"))
    data = encoded(Image.new("1", (10_000, 6_000)), "PNG")
    with pytest.raises(PictureError, match="10,000 x 6,000"):
        checked(data, "a.png")


def test_too_many_bytes_are_refused_without_being_read(tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "MAX_BYTES", 1000)
    path = tmp_path / "a.jpg"
    path.write_bytes(b"\xff\xd8\xff" * 1000)
    with pytest.raises(PictureError, match=r"has 3,000 bytes; a picture may have 1,000"):
        load(str(path))


def test_pages_and_frames_are_told_not_dropped():
    frames = [receipt(), Image.new("RGB", (50, 50))]
    for kind in ("GIF", "TIFF"):
        data = encoded(frames[0], kind, save_all=True, append_images=frames[1:])
        with pytest.raises(PictureError, match="2 pages or frames"):
            checked(data, "a")


@pytest.mark.parametrize("place", ["missing.jpg", ".", "a\0b.jpg"])
def test_a_path_that_cannot_be_read_says_why(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PictureError):
        load(place)


# Data URLs


def test_a_data_url_is_the_picture_in_it_whatever_type_it_claims():
    data = encoded(receipt())
    plain = base64.b64encode(data).decode()
    for head in ("data:image/png;base64,", "data:image/jpeg;base64,", "DATA:;base64,"):
        assert load(head + plain).data == data


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("data:image/png;base64,%%%", "not valid base64"),
        ("data:image/png;base64,aGVsbG8=", "is not a picture"),
        ("data:image/png", "is not a data URL"),
        ("data:image/png;base64,", "is empty"),
        ("data:text/plain,hello", "is not a picture"),
    ],
)
def test_a_data_url_that_is_no_picture_says_why(url, said):
    with pytest.raises(PictureError, match=said):
        load(url)


# URLs


def served(*responses: httpx2.Response) -> Fetch:
    waiting = list(responses)
    return Fetch(httpx2.MockTransport(lambda _request: waiting.pop(0)))


@pytest.fixture
def public(monkeypatch):
    """Every host is at a public address."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: found)


def test_urls_are_not_fetched_unless_asked_for():
    with pytest.raises(PictureError, match="pictures are not fetched") as caught:
        load("https://example.org/a.png")
    assert "--fetch-pictures" in (caught.value.hint or "")


def test_a_url_is_fetched_where_that_is_allowed(public):
    data = encoded(receipt())
    moved = httpx2.Response(302, headers={"location": "/b.png"})
    fetch = served(moved, httpx2.Response(200, content=data))
    assert load("https://example.org/a.png", fetch=fetch).data == data


@pytest.mark.parametrize(
    ("responses", "said"),
    [
        ([httpx2.Response(404)], "HTTP status 404"),
        ([httpx2.Response(302, headers={"location": "file:///etc/passwd"})], "no http"),
        ([httpx2.Response(302, headers={"location": "/again"})] * 4, "more than 3 times"),
        ([httpx2.Response(200, content=b"<html>")], "is not a picture"),
    ],
)
def test_a_url_that_has_no_picture_says_why(public, responses, said):
    with pytest.raises(PictureError, match=said):
        load("https://example.org/a.png", fetch=served(*responses))


def test_a_fetched_picture_is_read_no_further_than_allowed(public, monkeypatch):
    monkeypatch.setattr(loading, "MAX_BYTES", 10)
    with pytest.raises(PictureError, match="more than 10 bytes"):
        load("https://example.org/a", fetch=served(httpx2.Response(200, content=b"x" * 11)))


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "10.0.0.1", "169.254.169.254", "localhost"])
def test_addresses_that_are_not_public_are_refused(host):
    fetch = Fetch(httpx2.MockTransport(lambda _request: pytest.fail("it was asked")))
    with pytest.raises(PictureError, match=r"not public|no host"):
        load(f"http://{host}/a.png", fetch=fetch)


# Pixels


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_turns_the_picture_upright(orientation):
    image = Image.new("RGB", (40, 20), "white")
    image.paste((255, 0, 0), (0, 0, 20, 10))  # red at the top left
    turn = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }.get(orientation)
    stored = image if turn is None else image.transpose(turn)
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = checked(encoded(stored, "PNG", exif=exif), "a")
    assert (picture.width_px, picture.height_px) == (40, 20)
    pixels = bgr_of(picture)
    assert pixels.shape == (20, 40, 3)
    assert pixels[2, 2].tolist() == [0, 0, 255]
    assert pixels[17, 37].tolist() == [255, 255, 255]


def test_what_is_transparent_is_white_and_sixteen_bits_are_kept():
    clear = Image.new("RGBA", (30, 30), (0, 0, 0, 0))
    assert bgr_of(checked(encoded(clear), "a")).min() == 255
    ramp = np.linspace(0, 65535, 900, dtype=np.uint16).reshape(30, 30)
    grey = bgr_of(checked(encoded(Image.fromarray(ramp)), "a"))
    assert abs(float(grey.mean()) - 127.5) < 2


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "CMYK", "RGB"])
def test_every_mode_becomes_three_colours(mode):
    kind = "TIFF" if mode in ("CMYK", "LA") else "PNG"
    picture = checked(encoded(receipt().convert(mode), kind), "a")
    assert bgr_of(picture).shape[2] == 3
    assert bgr_of(picture).mean() > 200
