"""Reports of the village, and what is in them."""

from __future__ import annotations

import json
import re
from typing import Any


def page_data(html: str) -> Any:
    found = re.search(r'<script type="application/json" id="page-data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return json.loads(found[1])
