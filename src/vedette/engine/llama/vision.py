"""A vision projector: pictures as vectors that stand in a prompt instead of tokens.

It is llama.cpp's multimodal library (mtmd) that cuts a picture up as its model wants it, and puts
the tokens around it that the model was trained with.
"""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path
from typing import TypeAlias

import llama_cpp
import numpy as np
from llama_cpp import mtmd_cpp as mtmd
from numpy.typing import NDArray

from vedette.errors import EngineFailed, ProjectorRefused

from . import library
from .batch import Vectors
from .model import Model

_log_lock = threading.Lock()
_has_log = False


Part: TypeAlias = tuple[int, ...] | Vectors
"""Of a picture in a prompt: token ids around it, or what is shown."""


class Projector:
    """The projector of a file, loaded for a model. One call at a time.

    What its header says must have been checked before (`models.projector_file`). Raises
    `ProjectorRefused` for a file that llama.cpp refuses all the same, for one that sees nothing,
    and for models whose positions are not counted one by one.
    """

    def __init__(self, model: Model, path: Path, *, threads: int) -> None:
        _keep_log()
        self.path = path
        self._width = int(llama_cpp.llama_model_n_embd_inp(model.pointer))
        params = mtmd.mtmd_context_params_default()
        params.use_gpu = bool(llama_cpp.llama_supports_gpu_offload())
        params.print_timings = False
        params.n_threads = threads
        params.warmup = False
        self._pointer = mtmd.mtmd_init_from_file(os.fsencode(path), model.pointer, params)
        if not self._pointer:
            raise ProjectorRefused(
                f"llama.cpp cannot load the projector {path}: "
                f"{library.last_complaint() or 'no reason given'}",
                hint="--mmproj none is for texts only",
            )
        try:
            self._check(model)
        except BaseException:
            self.close()
            raise

    def _check(self, model: Model) -> None:
        if not mtmd.mtmd_support_vision(self._pointer):
            raise ProjectorRefused(f"{self.path.name} hears and does not see: it takes no pictures")
        if mtmd.mtmd_decode_use_mrope(self._pointer):
            raise ProjectorRefused(
                f"{model.path.name} gives a picture positions in two dimensions (M-RoPE), which "
                "this engine does not count",
                hint="take a vision model without M-RoPE, or --mmproj none for texts only",
            )

    @property
    def shows_whole(self) -> bool:
        """Whether all positions of a picture see each other."""
        return bool(mtmd.mtmd_decode_use_non_causal(self._pointer, None))

    def parts(self, pixels: NDArray[np.uint8]) -> list[Part]:
        """A picture as it stands in a prompt. Takes as long as the encoder does.

        `pixels` are (height, width, 3), red first. Raises `EngineFailed`.
        """
        height, width = pixels.shape[:2]
        data = np.ascontiguousarray(pixels)
        bitmap = mtmd.mtmd_bitmap_init(
            width, height, data.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        )
        chunks = mtmd.mtmd_input_chunks_init()
        try:
            marker = mtmd.mtmd_default_marker()
            text = mtmd.mtmd_input_text(marker, len(marker), False, True)
            bitmaps = (mtmd.mtmd_bitmap_p_ctypes * 1)(bitmap)
            status = mtmd.mtmd_tokenize(self._pointer, chunks, ctypes.byref(text), bitmaps, 1)
            if status != 0:
                raise self._failed("mtmd_tokenize", status)
            n_chunks = mtmd.mtmd_input_chunks_size(chunks)
            return [self._part(mtmd.mtmd_input_chunks_get(chunks, i)) for i in range(n_chunks)]
        finally:
            mtmd.mtmd_input_chunks_free(chunks)
            mtmd.mtmd_bitmap_free(bitmap)

    def _part(self, chunk: object) -> Part:
        kind = mtmd.mtmd_input_chunk_get_type(chunk)
        if kind == mtmd.MTMD_INPUT_CHUNK_TYPE_TEXT:
            n_tokens = ctypes.c_size_t()
            tokens = mtmd.mtmd_input_chunk_get_tokens_text(chunk, ctypes.byref(n_tokens))
            return tuple(tokens[: n_tokens.value])
        status = mtmd.mtmd_encode_chunk(self._pointer, chunk)
        if status != 0:
            raise self._failed("mtmd_encode_chunk", status)
        n = int(mtmd.mtmd_input_chunk_get_n_tokens(chunk))
        found = mtmd.mtmd_get_output_embd(self._pointer)
        values = np.ctypeslib.as_array(found, shape=(n, self._width)).copy()
        return Vectors(values, bool(mtmd.mtmd_decode_use_non_causal(self._pointer, chunk)))

    def _failed(self, call: str, status: int) -> EngineFailed:
        reason = library.last_complaint() or "no reason given"
        return EngineFailed(f"the picture cannot be shown: {call} returned {status}: {reason}")

    def close(self) -> None:
        """Free it; before its model."""
        pointer, self._pointer = self._pointer, None
        if pointer:
            mtmd.mtmd_free(pointer)


def _keep_log() -> None:
    """Keep what mtmd says, as what llama.cpp says is kept."""
    global _has_log
    library.start()
    with _log_lock:
        if not _has_log:
            mtmd.mtmd_helper_log_set(library.keep_line, ctypes.c_void_p(0))
            _has_log = True
