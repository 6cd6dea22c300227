"""Chromium for tests, without a window, and what a reader would see in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from tests.needs import LackingError

PHONE, DESK = 375, 1280

#: What a reader would see: widths, sizes of letters, contrasts.
SEEN = """
const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
  .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
const behind = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const found = parse(getComputedStyle(one).backgroundColor);
    if (found.length === 3 || found[3] > 0) return found;
  }
  return [255, 255, 255];
};
const contrast = (colour, element) => {
  const [low, high] = [luminance(parse(colour)), luminance(behind(element))].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const texts = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement, text = walker.currentNode.data.trim();
  if (!text || !element.checkVisibility()) continue;
  const style = getComputedStyle(element);
  texts.push([text, parseFloat(style.fontSize), contrast(style.color, element)]);
}
const seen = {
  width: document.documentElement.scrollWidth,
  lang: document.documentElement.lang,
  background: luminance(behind(document.body)),
  texts: texts,
};
"""


@contextmanager
def chromium(folder: Path) -> Iterator[webdriver.Chrome]:
    """Start Chromium without a network of its own, which keeps what it writes in a folder."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver:
        raise LackingError("a browser (apt-get install -y --no-install-recommends chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    quiet = ("background-networking", "component-update", "gpu", "quic", "sync", "site-isolation-trials")
    one = ("renderer-process-limit=1", "disable-features=site-per-process,SpareRendererForSitePerProcess")  # to start
    for switch in ("headless", "no-sandbox", "no-first-run", *one, *(f"disable-{part}" for part in quiet)):
        options.add_argument(f"--{switch}")
    options.add_argument(f"--user-data-dir={folder}")
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


def emulate(browser: webdriver.Chrome, width: int = DESK, scheme: str = "light", **media: str) -> None:
    """Make the screen so wide, and the reader prefer a scheme of colours, and whatever else media queries ask."""
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = {"prefers-color-scheme": scheme, **{name.replace("_", "-"): value for name, value in media.items()}}
    given: list[Any] = [{"name": name, "value": value} for name, value in features.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": given})
