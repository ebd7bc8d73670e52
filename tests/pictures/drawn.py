"""Pictures for tests, drawn here: text on white, and files of every kind."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

RECEIPT = (
    ("CORNER BOOKSHOP", ""),
    ("12 Mill Lane, Oldtown", ""),
    ("Date: 2026-03-14", ""),
    ("Atlas of rivers", "18.50"),
    ("Pencil, soft", "1.20"),
    ("TOTAL", "19.70"),
)


def receipt(rows: Sequence[tuple[str, str]] = RECEIPT, width: int = 460) -> Image.Image:
    """A label at the left of each row, an amount at the right."""
    font = ImageFont.load_default(size=24)
    image = Image.new("RGB", (width, 40 + 44 * len(rows)), "white")
    draw = ImageDraw.Draw(image)
    for number, (left, right) in enumerate(rows):
        y = 24 + 44 * number
        draw.text((20, y), left, fill="black", font=font)
        draw.text((width - 20, y), right, fill="black", font=font, anchor="ra")
    return image


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    """The file of the picture."""
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def png_header(width: int, height: int) -> bytes:
    """A PNG that says it is so large, and has nothing of it."""
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    crc = struct.pack(">I", zlib.crc32(body))
    begun = struct.pack(">I", 1000) + b"IDAT"
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + crc + begun


def webp_header(width: int, height: int) -> bytes:
    """A WebP that says it is so large, and has nothing of it."""
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\xff\0\0\0WEBPVP8X\x0a\0\0\0" + b"\0" * 4 + size
