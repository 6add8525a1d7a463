"""What every page of ours is made of: one HTML file that needs no network, with its style, scripts and data inside."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from statveil.core.limits import Ending
from statveil.publish.report.reading import how_to_read

HERE = Path(__file__).parent
VEGA = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js")
ENDINGS = {
    Ending.OPTIMAL: "proved best possible",
    Ending.CLAIMED: "a solver says it is the best possible, not certified",
    Ending.FEASIBLE: "safe, best possible not proved",
    Ending.OUT_OF_TIME: "stopped at the time limit",
    Ending.INFEASIBLE: "no safe table exists",
    Ending.FAILED: "failed",
}


def render(template: str, context: dict[str, Any]) -> str:
    loader = FileSystemLoader(HERE / "templates")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals["how_to_read"] = how_to_read
    return environment.get_template(template).render(context)


@cache
def asset(name: str) -> Markup:
    """A style sheet or script of ours, to stand inside the page; the pointer to its source map would be a load, so it goes."""
    return Markup(re.sub(r"//# sourceMappingURL=\S+", "", (HERE / name).read_text(encoding="utf-8")))


def json_for_page(content: Any) -> Markup:
    """JSON that may stand inside a script element: nothing in it can close the element or open another."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)
