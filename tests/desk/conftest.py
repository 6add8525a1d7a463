"""A desk in a process of its own, and a real browser on it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 300_000
"""Milliseconds that a browser may take for anything: machines are busy."""
COMMAND = [sys.executable, "-c", "from statveil.cli import main; main()", "desk"]

BROKEN_NUMBERS = r"""() => {
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walk.nextNode(); text; text = walk.nextNode()) {
    const around = text.parentElement;
    if (around.closest('pre, code, script, style, svg, option, textarea, .unseen')) continue;
    for (const number of text.data.matchAll(/(?<!\w)[+\-\u2212]?\d+(?:[.,:\/\u2013-]\d+)*(?:[\s\u00a0]?%)?(?!\w)/g)) {
      const range = document.createRange();
      range.setStart(text, number.index);
      range.setEnd(text, number.index + number[0].length);
      const lines = new Set([...range.getClientRects()].filter(each => each.width > 0).map(each => Math.round(each.top)));
      if (lines.size > 1) found.push(`broken across lines: ${number[0]} in ${around.textContent.trim().slice(0, 80)}`);
    }
  }
  return found; }"""
"""Numbers, ratios and dates of a page that do not stand on one line. Hashes and file names are code and may break."""


@contextmanager
def desk_process(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address that it printed, and the process."""
    command = [*COMMAND, str(folder), "--as", "Ada", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout
        try:
            yield re.findall(r"http\S+", process.stdout.readline())[0], process
        finally:
            process.terminate()  # else a test that fails would wait for it for ever


@contextmanager
def browser_page(address: str, **how: Any) -> Iterator[Any]:
    """A page in a real browser, and everything that the browser complained about or asked of others."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("There is no Chromium here.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as machine:
        browser = machine.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=PATIENCE)
        made = browser.new_context(accept_downloads=True, base_url=address.partition("/t/")[0] or None, **how).new_page()
        made.set_default_timeout(PATIENCE)
        made.complaints = []
        made.on("console", lambda message: made.complaints.append(message.text) if message.type in ("error", "warning") else None)
        made.on("pageerror", lambda error: made.complaints.append(str(error)))
        made.on("request", lambda request: made.complaints.append(request.url) if "//127.0.0.1:" not in request.url else None)
        yield made
        browser.close()


def faults(page: Any) -> list[str]:
    """What axe-core finds on the page as it stands, numbers that are broken across lines, and whether it is wider than its window."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core comes with axe-playwright-python")
    found = axe.Axe().run(page).response["violations"]
    words = [f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:200]}" for each in found for node in each["nodes"]]
    width = page.viewport_size["width"]
    wide = page.evaluate("document.documentElement.scrollWidth")
    return [*words, *page.evaluate(BROKEN_NUMBERS), *([f"{wide} px wide in {width}"] if wide > width else [])]


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with desk_process(tmp_path / "project") as (where, _):
        yield where


@pytest.fixture
def page(address: str) -> Iterator[Any]:
    with browser_page(address) as made:
        yield made
