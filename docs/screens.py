"""Takes the pictures of the README in Chromium: `python -m docs.screens`, from the root, writes them into `_static`.

They show what a machine without data sets and without a network shows.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from tests.browsing import chromium

FOLDER = Path(__file__).parent / "_static"
WIDTH, HEIGHT = 1000, 1500
STARS = (5, 4, 5, 2, 5, 1)  # for the films that the page shows first


def take(browser: Chrome, name: str) -> None:
    """Save what the browser shows, in as many colours as a page of text has."""
    picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    picture.quantize(64).save(FOLDER / f"{name}.png", optimize=True)


def main() -> None:
    """Run both demos and take their pictures."""
    environment = {name: value for name, value in os.environ.items() if name != "COFACTOR_DATA"}
    with tempfile.TemporaryDirectory() as place, chromium(Path(place) / "browser") as browser:
        command = [sys.executable, "-m", "cofactor", "demo"]
        subprocess.run([*command, "--offline", "--out", f"{place}/report"], check=True, env=environment)
        screen = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        browser.get(f"file://{place}/report/report.html")
        take(browser, "demo-report")

        serve = [*command, "serve", "--offline", "--no-browser", "--port", "0"]
        with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, env=environment) as server:
            assert server.stdout is not None
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
            browser.get(address)
            found = '[data-part="found"] > li'
            WebDriverWait(browser, 20).until(lambda _: browser.find_elements(By.CSS_SELECTOR, found))
            keys = [one.get_attribute("data-key") for one in browser.find_elements(By.CSS_SELECTOR, found)]
            for key, stars in zip(keys, STARS, strict=False):
                star = f'[data-part="found"] [data-key="{key}"] label:nth-of-type({stars})'
                browser.find_element(By.CSS_SELECTOR, star).click()
            time.sleep(1)  # until the last list has moved to its place
            browser.execute_script("scrollTo(0, 0)")
            take(browser, "page")
            server.terminate()


if __name__ == "__main__":
    main()
