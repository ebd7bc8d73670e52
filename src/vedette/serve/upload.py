"""A file in a form (multipart/form-data, RFC 7578), written to disk as it comes."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from fastapi import Request as HttpRequest
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from vedette.errors import Cancelled, FileError

from .file_store import FileStore, Incoming, StoredFile, too_large, unkept
from .options import SLOWEST_BYTES_PER_S
from .problems import Refusal

PATIENCE_S = 60.0
"""A file has this long, and the time that its bytes take at the slowest."""
MOST_FIELD_BYTES = 1024
MOST_HEADER_BYTES = 8 * 1024
MOST_PARTS = 8
MOST_NAME_CHARS = 255
FRAME_BYTES = 64 * 1024  # what a form may have around its file
DRAIN_S = 5.0
DRAIN_BYTES = 64 * 1024 * 1024


async def received(http: HttpRequest, store: FileStore) -> StoredFile:
    """The file of the form, kept in the store.

    Raises `Refusal` for a form that is none, lacks something or has too much, and `Cancelled` if
    the client left.
    """
    body = _Body(http)
    try:
        form = _Form(_boundary(http))
        announced = http.headers.get("content-length", "")
        if announced.isdigit() and int(announced) > store.most_file_bytes + FRAME_BYTES:
            raise too_large(store.most_file_bytes)
        with store.incoming() as file:
            await _read(body, form, file)
            filename = form.filename()
            return await asyncio.to_thread(store.keep, file, filename=filename, purpose="batch")
    except Refusal:
        await body.drain()
        raise
    except FileError as error:
        await body.drain()
        raise unkept("the file", error) from error


async def _read(body: _Body, form: _Form, file: Incoming) -> None:
    while body.has_more:
        form.feed(await body.next())
        for piece in form.take_pieces():
            file.admit(len(piece))
            await asyncio.to_thread(file.write, piece)
    form.check_end()


class _Body:
    """The bytes of a request as they come."""

    def __init__(self, http: HttpRequest) -> None:
        self.has_more = True
        self._http = http
        self._n_bytes = 0
        self._began = asyncio.get_running_loop().time()

    async def next(self) -> bytes:
        """The next part. Raises `Cancelled` if the client left.

        Raises `Refusal` after a long silence, and where too little has come since the beginning.
        """
        now = asyncio.get_running_loop().time()
        slowest = self._began + PATIENCE_S + self._n_bytes / SLOWEST_BYTES_PER_S
        try:
            async with asyncio.timeout_at(min(now + PATIENCE_S, slowest)):
                message = await self._http.receive()
        except TimeoutError:
            raise Refusal(
                f"the file came too slowly: {self._n_bytes} bytes so far",
                status=408,
                code="request_timeout",
            ) from None
        if message["type"] == "http.disconnect":
            raise Cancelled("the client went away")
        self.has_more = message.get("more_body", False)
        part: bytes = message.get("body", b"")
        self._n_bytes += len(part)
        return part

    async def drain(self) -> None:
        """Take what is still being sent: a client whose sending breaks off reads no refusal."""
        n_bytes = 0
        with suppress(TimeoutError, Cancelled, Refusal):
            async with asyncio.timeout(DRAIN_S):
                while self.has_more and n_bytes < DRAIN_BYTES:
                    n_bytes += len(await self.next())


def _boundary(http: HttpRequest) -> bytes:
    kind, options = parse_options_header(http.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise Refusal("a file is sent as a form: Content-Type: multipart/form-data")
    return options[b"boundary"]


class _Form:
    """What has been read of a form: its fields, and pieces of the file that nobody took yet."""

    def __init__(self, boundary: bytes) -> None:
        self._fields: dict[str, bytearray] = {}
        self._filename: str | None = None
        self._pieces: list[bytes] = []
        self._n_parts = 0
        self._header = (bytearray(), bytearray())
        self._disposition = b""
        self._field: bytearray | None = None  # None: the part is the file
        self._has_ended = False
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._on_part_begin,
                    "on_part_data": self._on_part_data,
                    "on_header_field": self._on_header_field,
                    "on_header_value": self._on_header_value,
                    "on_header_end": self._on_header_end,
                    "on_headers_finished": self._on_headers_finished,
                    "on_end": self._on_end,
                },
            )
        except FormParserError as error:
            raise _broken() from error

    def feed(self, chunk: bytes) -> None:
        """Read on. Raises `Refusal`."""
        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise _broken() from error

    def take_pieces(self) -> list[bytes]:
        """What has come of the file since the last call."""
        pieces, self._pieces = self._pieces, []
        return pieces

    def check_end(self) -> None:
        """Raises `Refusal` for a form that broke off."""
        if not self._has_ended:
            raise _broken()

    def filename(self) -> str:
        """Raises `Refusal` for a form that lacks something, or has a purpose other than batch."""
        if self._filename is None:
            raise Refusal("file: it is missing, or was not sent as a file", param="file")
        if "purpose" not in self._fields:
            raise Refusal("purpose: it is missing", param="purpose")
        purpose = self._fields["purpose"].decode("utf-8", "replace")
        if purpose != "batch":
            raise Refusal(
                f"purpose: it should be batch, not {purpose!r}: this server uses files for "
                "batches only",
                param="purpose",
            )
        return self._filename

    def _on_part_begin(self) -> None:
        self._n_parts += 1
        if self._n_parts > MOST_PARTS:
            raise Refusal(f"the form has more than {MOST_PARTS} parts")
        self._header = (bytearray(), bytearray())
        self._disposition = b""

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._add_to_header(0, data[start:end])

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._add_to_header(1, data[start:end])

    def _add_to_header(self, which: int, data: bytes) -> None:
        self._header[which].extend(data)
        if len(self._header[which]) > MOST_HEADER_BYTES:
            raise Refusal("the form has a header that is too long")

    def _on_header_end(self) -> None:
        name, value = self._header
        if name.lower() == b"content-disposition":
            self._disposition = bytes(value)
        self._header = (bytearray(), bytearray())

    def _on_headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        if b"name" not in options:
            raise _broken()
        name = options[b"name"].decode("utf-8", "replace")
        if name == "file" and b"filename" in options:
            if self._filename is not None:
                raise Refusal("file: one at a time", param="file")
            self._filename = shown_name(options[b"filename"])
            self._field = None
            return
        if name.startswith("expires_after"):
            raise Refusal(
                "expires_after: files stay until they are deleted",
                code="unsupported_parameter",
                param="expires_after",
            )
        if name not in ("file", "purpose"):
            raise Refusal(f"there is no field {name}", code="unknown_field", param=name)
        self._field = self._fields[name] = bytearray()

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._field is None:
            self._pieces.append(data[start:end])
            return
        self._field.extend(data[start:end])
        if len(self._field) > MOST_FIELD_BYTES:
            raise Refusal("the form has a field that is too long")

    def _on_end(self) -> None:
        self._has_ended = True


def shown_name(given: bytes) -> str:
    """A client's name of a file, to be shown: without folders and control characters."""
    last = given.decode("utf-8", "replace").replace("\\", "/").rpartition("/")[2]
    kept = "".join(char for char in last if char.isprintable())
    return kept[:MOST_NAME_CHARS] or "upload"


def _broken() -> Refusal:
    return Refusal("the body is not valid multipart/form-data", code="invalid_form")
