"""Make docs/pictures/page.webp again: two parts of the page that `privfit demo` writes, in a browser.

Usage: python tools/screenshot.py [PAGE.html], with chromium, its driver, selenium and Pillow installed. It
runs the demo first if no page is given.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw
from selenium import webdriver
from selenium.webdriver.common.by import By

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "page.webp"
# pixels; the width and the largest height of the window, which shows the whole page
WIDTH, TALLEST = 1000, 8000
FACTS, SHOWN = 536, 4  # pixels of the top of the page, and the number of curves
EDGE = 140  # pixels that are cut off on both sides


def photograph(page: Path, picture: Path) -> None:
    """Write a picture of the top of a page and of its curves, one below the other."""
    options = webdriver.ChromeOptions()
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    options.add_argument(f"--window-size={WIDTH},{TALLEST}")
    options.binary_location = shutil.which("chromium") or ""
    # given, so that selenium does not look for one online
    driver = webdriver.ChromeService(shutil.which("chromedriver"))
    with webdriver.Chrome(options=options, service=driver) as browser:
        browser.get(page.resolve().as_uri())
        whole = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
        tops = [int(curve.rect["y"]) - 20 for curve in browser.find_elements(By.TAG_NAME, "figure")]
    start, end = tops[0], tops[SHOWN]
    shown = Image.new("RGB", (WIDTH - 2 * EDGE, FACTS + end - start), "white")
    shown.paste(whole.crop((EDGE, 0, WIDTH - EDGE, FACTS)), (0, 0))
    shown.paste(whole.crop((EDGE, start, WIDTH - EDGE, end)), (0, FACTS))
    ImageDraw.Draw(shown).line((0, FACTS, WIDTH, FACTS), fill="#9aa7b5", width=2)
    shown.save(picture, quality=80, method=6)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        page = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "demo.html"
        if len(sys.argv) == 1:
            subprocess.run([sys.executable, "-m", "privfit", "demo", "--report", page], check=True)
        photograph(page, PICTURE)
