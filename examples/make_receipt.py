"""Draws examples/receipt.png: a receipt of a shop that does not exist. Needs Pillow 10.1 or newer.

python examples/make_receipt.py [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

ROWS = (
    ("CORNER BOOKSHOP", ""),
    ("12 Mill Lane, Oldtown", ""),
    ("", ""),
    ("Date: 2026-03-14", ""),
    ("Receipt no. 20418", ""),
    ("", ""),
    ("Atlas of rivers", "18.50"),
    ("Pencils, soft, 6", "4.20"),
    ("Notebook", "3.95"),
    ("TOTAL", "26.65"),
    ("Cash", "30.00"),
    ("Change", "3.35"),
    ("", ""),
    ("Thank you, come again", ""),
)
WIDTH, ROW, MARGIN = 480, 38, 28


def main() -> None:
    font = ImageFont.load_default(size=24)
    image = Image.new("L", (WIDTH, 2 * MARGIN + ROW * len(ROWS)), "white")
    draw = ImageDraw.Draw(image)
    for number, (left, right) in enumerate(ROWS):
        y = MARGIN + ROW * number
        draw.text((MARGIN, y), left, fill="black", font=font)
        draw.text((WIDTH - MARGIN, y), right, fill="black", font=font, anchor="ra")
    default = Path(__file__).with_name("receipt.png")
    image.save(Path(sys.argv[1]) if len(sys.argv) > 1 else default, optimize=True)


if __name__ == "__main__":
    main()
