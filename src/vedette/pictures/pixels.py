"""The pixels of a picture: how many, whether all are there, and the array of them."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vedette.errors import CapabilityMissing, InputError
from vedette.types import Picture, PictureFormat

if TYPE_CHECKING:
    from PIL.Image import Image

INSTALL = "pip install 'vedette[pictures]'"
_ORIENTATION = 0x0112  # the EXIF tag; 5 to 8 lie on their side


def size_of(data: bytes, kind: PictureFormat) -> tuple[int, int]:
    """Width and height as they are stored, from the header alone: nothing is decoded.

    Raises `InputError` for a header that is broken.
    """
    try:
        if kind == "webp":
            return _webp_size(data)
        with _open(data, kind) as image:
            return image.size
    except CapabilityMissing:
        raise
    except Exception as error:  # what a broken file makes a decoder raise is open-ended
        raise _broken(error) from error


def check_pixels(data: bytes, kind: PictureFormat) -> bool:
    """Decode it all; returns whether EXIF says that width and height are to be swapped.

    Raises `InputError` for a picture that is cut or damaged, or has several pages.
    """
    try:
        with _open(data, kind) as image:
            n_pages: int = getattr(image, "n_frames", 1)
            image.load()
            lies = image.getexif().get(_ORIENTATION) in (5, 6, 7, 8)
    except Exception as error:  # see above
        raise _broken(error) from error
    if n_pages > 1:
        raise InputError(f"has {n_pages} pages or frames", hint="give each as a picture of its own")
    return lies


def _webp_size(data: bytes) -> tuple[int, int]:
    """By hand (RFC 9649), as its decoder has room made for all pixels when it is opened."""
    chunk, body = data[12:16], data[20:30]
    if len(body) < 10:
        raise ValueError("the header is cut")
    if chunk == b"VP8X":
        width, height = body[4:7], body[7:10]
        return int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1
    if chunk == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8 ":
        width, height = body[6:8], body[8:10]
        return int.from_bytes(width, "little") & 0x3FFF, int.from_bytes(height, "little") & 0x3FFF
    raise ValueError("the header is none of WebP's")


def bgr_of(picture: Picture) -> NDArray[np.uint8]:
    """Its pixels, upright, on white where it is transparent.  # (height, width, 3): blue first"""
    from PIL import Image, ImageOps

    with _open(picture.data, picture.format) as opened:
        image: Image.Image = ImageOps.exif_transpose(opened)
        if image.mode.startswith("I;16"):
            # 16 bits of grey: Pillow's own conversion cuts them off at 255.
            grey = np.asarray(image).astype(np.uint32) >> 8
            image = Image.fromarray(grey.astype(np.uint8))
        if image.has_transparency_data:
            image = image.convert("RGBA")
            image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
        pixels = np.asarray(image.convert("RGB"), dtype=np.uint8)
    return np.ascontiguousarray(pixels[:, :, ::-1])


def _open(data: bytes, kind: PictureFormat) -> Image:
    """The plugin itself: `Image.open` would choose it by guesses, and warn of sizes by itself."""
    try:
        from PIL import (
            BmpImagePlugin,
            GifImagePlugin,
            JpegImagePlugin,
            PngImagePlugin,
            TiffImagePlugin,
            WebPImagePlugin,
        )
    except ImportError as error:
        raise CapabilityMissing("pictures need Pillow", hint=INSTALL) from error
    plugins: dict[PictureFormat, Callable[[BytesIO], Image]] = {
        "bmp": BmpImagePlugin.BmpImageFile,
        "gif": GifImagePlugin.GifImageFile,
        "jpeg": JpegImagePlugin.JpegImageFile,
        "png": PngImagePlugin.PngImageFile,
        "tiff": TiffImagePlugin.TiffImageFile,
        "webp": WebPImagePlugin.WebPImageFile,
    }
    return plugins[kind](BytesIO(data))


def _broken(error: Exception) -> InputError:
    reason = str(error) or type(error).__name__
    return InputError(f"is damaged or cut: {reason}")
