"""One item, whose last answer is passed on while it is being written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from vedette.backends.base import Backend, Handle, Result
from vedette.tasks.base import Ask, Task
from vedette.types import Answer, Item


def stream_item(
    task: Task,
    item: Item,
    backend: Backend,
    *,
    is_last: Callable[[Sequence[Ask]], bool],
    on_text: Callable[[str], None],
    on_part: Callable[[int, int], None] | None = None,
) -> Answer:
    """Drive one item to its answer.

    Where `is_last` says so of a step, `on_text` is given the text of its one request so far, each
    time that there is more of it. `on_part` is told how many of a step's requests are done, of how
    many. Raises the `VedetteError` that says why there is no answer.
    """
    # Its overloads take one kind of request each, and this is any.
    submit = cast(Callable[[Ask], Handle[Result]], backend.submit)
    steps = task.steps(item, backend)
    try:
        asks = next(steps)
        while True:
            handles = [submit(ask) for ask in asks]
            if is_last(asks):
                text = ""
                for piece in handles[0]:
                    text += piece
                    on_text(text)
            results = []
            for n_done, handle in enumerate(handles, start=1):
                results.append(handle.result())
                if on_part is not None:
                    on_part(n_done, len(handles))
            asks = steps.send(results)
    except StopIteration as end:
        answer: Answer = end.value
        return answer
