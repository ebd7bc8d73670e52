"""From a path, a data URL or bytes to a picture that is known to be whole and not too large."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from urllib.parse import unquote_to_bytes

from vedette.errors import InputError, PictureError
from vedette.types import Picture

from .fetch import Fetch, is_url
from .formats import FORMATS, SNIFFED_BYTES, format_of, other_than
from .pixels import check_pixels, size_of

MAX_BYTES = 32 * 1024 * 1024
"""Of the file. A page scanned in colour at 600 dpi is well below it as a JPEG."""

MAX_PIXELS = 52_000_000
"""Refused before decoding, which takes 3 bytes of memory a pixel. Telephones have 50 million."""

_SHOWN_CHARS = 80
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?((?:;[\w.+-]+=[^;,]*)*)(;base64)?,", re.A | re.I)


def load(place: str, *, fetch: Fetch | None = None) -> Picture:
    """The picture at a path or in a data URL; at an http(s) URL only if `fetch` is given.

    Raises `PictureError` for what cannot be read, is not a whole picture, or is too large, and
    `CapabilityMissing` without Pillow.
    """
    if place[:5].lower() == "data:":
        return checked(_bytes_of_data_url(place), "the data URL")
    if is_url(place):
        if fetch is None:
            raise PictureError(
                f"{shortened(place)} is a URL, and pictures are not fetched: whoever writes a row "
                "could have this machine ask others, and its server learns what is read",
                hint="download it first, or allow it with --fetch-pictures",
            )
        return checked(fetch.bytes_of(place, MAX_BYTES), shortened(place))
    return checked(_bytes_of_file(place), place)


def checked(data: bytes, name: str) -> Picture:
    """The picture that these bytes are; `name` opens each error. Raises `PictureError`.

    Everything is found out here, once: it is decoded to its last row, and the pixels let go.
    """
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        return _checked(data, sha256)
    except InputError as error:
        message = f"{name} {error.message}"
        raise PictureError(message, hint=error.hint, sha256=sha256) from error


def _checked(data: bytes, sha256: str) -> Picture:
    if not data:
        raise InputError("is empty")
    if len(data) > MAX_BYTES:
        raise InputError(
            f"has {len(data):,} bytes; a picture may have {MAX_BYTES:,}", hint="make it smaller"
        )
    start = data[:SNIFFED_BYTES]
    kind = format_of(start)
    if kind is None:
        what, hint = other_than(start)
        raise InputError(f"is not a picture ({FORMATS}) but {what}", hint=hint)
    width, height = size_of(data, kind)
    if width * height > MAX_PIXELS:
        raise InputError(
            f"has {width:,} x {height:,} pixels; a picture may have {MAX_PIXELS:,} in all",
            hint="make it smaller",
        )
    if check_pixels(data, kind):
        width, height = height, width
    return Picture(data=data, format=kind, sha256=sha256, width_px=width, height_px=height)


def shortened(place: str) -> str:
    """A place for messages: the whole of a data URL helps nobody."""
    return place if len(place) <= _SHOWN_CHARS else place[:_SHOWN_CHARS] + "..."


def _bytes_of_file(path: str) -> bytes:
    """At most one byte more than is allowed is read."""
    try:
        if os.path.isdir(path):
            raise PictureError(f"{path} is a folder, not a picture")
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                n_bytes = max(os.fstat(file.fileno()).st_size, len(data))
                raise PictureError(
                    f"{path} has {n_bytes:,} bytes; a picture may have {MAX_BYTES:,}",
                    hint="make it smaller",
                )
            return data
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise PictureError(f"cannot read {shortened(path)}: {reason}") from error


def _bytes_of_data_url(url: str) -> bytes:
    """As RFC 2397 has it. What the URL says of the type is not relied on."""
    head = _DATA_URL.match(url)
    if head is None:
        raise PictureError(
            f"{shortened(url)} is not a data URL", hint="write data:image/png;base64,..."
        )
    body = url[head.end() :]
    if len(body) > MAX_BYTES * 2:
        raise PictureError(f"the data URL is longer than {MAX_BYTES:,} bytes of a picture can be")
    if not head.group(3):
        return unquote_to_bytes(body)
    try:
        return base64.b64decode(unquote_to_bytes(body), validate=True)
    except binascii.Error as error:
        raise PictureError(f"the data URL is not valid base64: {error}") from error
