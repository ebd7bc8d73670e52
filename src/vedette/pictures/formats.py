"""What a file is, by how it begins; its name says nothing."""

from __future__ import annotations

from vedette.types import PictureFormat

SNIFFED_BYTES = 16

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
"""Names by which people mean a picture, whatever is in the file."""

FORMATS = "JPEG, PNG, WebP, GIF, BMP or TIFF"

_STARTS: tuple[tuple[bytes, PictureFormat], ...] = (
    (b"\xff\xd8\xff", "jpeg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
)
_BMP_HEADER_BYTES = {12, 40, 52, 56, 64, 108, 124}  # the sizes of its headers that there are
# What people have instead, and what to do about it.
_OTHERS = (
    (b"%PDF", "a PDF", "export its pages as PNG"),
    (b"<svg", "an SVG drawing", "export it as PNG"),
    (b"<?xml", "XML, perhaps an SVG drawing", "export it as PNG"),
    (b"PK\x03\x04", "a zip archive or an office document", "export its pages as PNG"),
    (b"\x1f\x8b", "a gzip file", "decompress it first"),
)
_HEIF_BRANDS = {b"heic", b"heix", b"hevc", b"heim", b"mif1", b"msf1", b"avif", b"avis"}


def format_of(start: bytes) -> PictureFormat | None:
    """The format of a picture that begins so (`SNIFFED_BYTES` are enough), or None."""
    for magic, name in _STARTS:
        if start.startswith(magic):
            return name
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "webp"
    # Two letters are too few to tell a bitmap from a text: the size of its header must be one.
    if start[:2] == b"BM" and start[14:15] and start[14] in _BMP_HEADER_BYTES:
        return "bmp"
    return None


def other_than(start: bytes) -> tuple[str, str | None]:
    """What a file is that begins so and is no picture we read, and what to do about it."""
    for magic, kind, hint in _OTHERS:
        if start.startswith(magic):
            return kind, hint
    if start[4:8] == b"ftyp" and start[8:12] in _HEIF_BRANDS:
        return "a HEIC or AVIF picture", "export it as JPEG"
    return f"something else (it begins with {start[:8]!r})", None
