"""Text off pictures, by RapidOCR: its models come in its wheel, and nothing is fetched."""

from __future__ import annotations

import threading
from importlib.metadata import PackageNotFoundError, files, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.errors import CapabilityMissing, EngineFailed
from vedette.types import Json, Picture

from .layout import Line, Page, page_of
from .pixels import INSTALL, bgr_of

MIN_CONFIDENCE = 0.5
"""Less sure lines are specks and patterns more often than text; they are counted, not read."""

LEAST_SIDE_PX = 320
MOST_RATIO = 8
"""Smaller and longer pictures than that are given white beside them."""

LAYOUT_VERSION = 1
"""To be raised when the same lines become another text: earlier jobs are then not gone on with."""


def check_ocr() -> None:
    """Raise `CapabilityMissing` unless pictures can be read here. Loads nothing."""
    missing = [name for name in ("PIL", "rapidocr", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise CapabilityMissing(
            f"reading pictures needs {', '.join(missing)}, which is not installed", hint=INSTALL
        )


def ocr_identity() -> dict[str, Json]:
    """All that the text of a picture depends on besides the picture."""
    try:
        reader = f"rapidocr {version('rapidocr')}"
    except PackageNotFoundError as error:
        raise CapabilityMissing("reading pictures needs rapidocr", hint=INSTALL) from error
    return {"reader": reader, "min_confidence": MIN_CONFIDENCE, "layout": LAYOUT_VERSION}


class Ocr:
    """Reads pictures, one at a time; safe to use from any thread. Models are loaded on first use.

    It computes with one thread: with a second one a picture takes twice the processor's time, and
    the model that answers has a use for that.
    """

    def __init__(self) -> None:
        check_ocr()
        self._engine: Any = None
        self._lock = threading.Lock()

    def read(self, picture: Picture) -> Page:
        """The text of the picture in reading order. Raises `EngineFailed` if the runtime does."""
        pixels = _padded(bgr_of(picture))
        with self._lock:
            if self._engine is None:
                self._engine = _engine()
            try:
                # Lines of any confidence, so that those left out can be counted.
                found = self._engine(pixels, text_score=0.0)
            except Exception as error:  # of OpenCV or ONNX Runtime, without a base of their own
                raise EngineFailed(f"OCR failed: {error}") from error
        if found.txts is None or found.boxes is None:
            return page_of(())
        lines = [
            Line(text.strip(), float(score), tuple((float(x), float(y)) for x, y in corners))
            for text, score, corners in zip(found.txts, found.scores, found.boxes, strict=True)
        ]
        sure = [line for line in lines if line.confidence >= MIN_CONFIDENCE and line.text]
        return page_of(sure, n_unsure=sum(1 for line in lines if line.text) - len(sure))


def _padded(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The picture, or one with white to its right and below it, where places stay the same.

    The reader blows the shorter side up to some 700 pixels, and the longer one with it: a strip of
    a few pixels by some hundred would become a picture of many millions.
    """
    height, width = pixels.shape[:2]
    least = max(LEAST_SIDE_PX, -(-max(height, width) // MOST_RATIO))
    margins = ((0, max(0, least - height)), (0, max(0, least - width)), (0, 0))
    return np.pad(pixels, margins, constant_values=255)


def _engine() -> Any:
    try:
        from rapidocr import RapidOCR
    except ImportError as error:  # of a library that it needs
        raise CapabilityMissing(f"rapidocr cannot be loaded: {error}", hint=INSTALL) from error
    parameters: dict[str, object] = {
        "Global.log_level": "critical",
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        **_models(),
    }
    return RapidOCR(params=parameters)


def _models() -> dict[str, object]:
    """The files that came in the wheel, by name: one that is left open may be fetched."""
    brought = [path for path in files("rapidocr") or () if path.suffix == ".onnx"]
    found: dict[str, object] = {}
    for part in ("det", "cls", "rec"):
        path = next((path for path in brought if f"_{part}_" in path.name), None)
        if path is None or not Path(str(path.locate())).is_file():
            raise CapabilityMissing(
                f"this rapidocr ({version('rapidocr')}) brings no model for {part!r}, and none is "
                "fetched",
                hint=f"{INSTALL} --upgrade",
            )
        found[f"{part.capitalize()}.model_path"] = str(path.locate())
    return found
