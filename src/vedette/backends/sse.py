"""Server-sent events, as servers stream answers (WHATWG HTML, section 9.2)."""

from __future__ import annotations

from collections.abc import AsyncIterator

END = b"[DONE]"


async def events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each event, up to the end of the stream or `[DONE]`.

    Lines end with LF or CR LF only: JSON may hold other characters at which Python splits lines.
    """
    rest, data = b"", list[bytes]()
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                event = b"\n".join(data)
                data.clear()
                if event == END:
                    return
                yield event
