"""Pictures as input: loaded and checked once, and read by OCR where the model cannot see.

    picture = load("receipt.jpg")
    page = Ocr().read(picture)
    page.text

Needs the extra `pictures`.
"""

from .layout import Line, Page
from .loading import checked, load
from .ocr import Ocr

__all__ = ["Line", "Ocr", "Page", "checked", "load"]
