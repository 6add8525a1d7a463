"""The server's demonstration: invented enterprises, their trees, a new key and a configuration, in one folder."""

from __future__ import annotations

from pathlib import Path

from statveil.core.secret import new_key_file
from statveil.jobs.demo.demo import write_tree

CONFIG = """\
# The server's demonstration: tables of invented enterprises on request.

[key]
file = "secret.key"

[store]
file = "store.sqlite"

[web]
anonymous = true

[[dataset]]
id = "enterprises"
label = "Enterprises of Meridia (invented)"
file = "enterprises.parquet"
unit = "enterprise"
holding = "holding"
filters = ["region", "industry", "size"]

[dataset.dimensions]
region = { hierarchy = "regions.csv", label = "Region", levels = ["part", "region", "district"] }
industry = { hierarchy = "industries.csv", label = "Industry", levels = ["section", "division", "group", "class"] }
size = { hierarchy = "sizes.csv", label = "Size class", levels = ["class of persons employed"] }

[dataset.saved]
"Turnover by industry" = "measure=turnover&use=industry:rows&level=industry:division&use=region:columns&level=region:part&totals=true"
"Enterprises by region and size" = "measure=enterprises&use=region:rows&level=region:region&use=size:columns&totals=true"

[[dataset.measure]]
id = "turnover"
column = "turnover"
label = "Turnover"
unit = "thousand crowns"

[[dataset.measure]]
id = "employment"
column = "employment"
label = "Persons employed"
unit = "persons"

[[dataset.measure]]
id = "enterprises"
count = true
label = "Enterprises"
unit = "enterprises"

[[dataset.rule]]
type = "p-percent"
p = 10

[[dataset.rule]]
type = "minimum-frequency"
n = 3
level = 10
"""


def write_demo(folder: Path, *, records: int = 20_000) -> Path:
    """Everything that `statveil serve` needs; the path of the configuration."""
    from pyarrow.parquet import write_table

    from statveil.jobs.demo.enterprises import enterprises, industry_tree, region_tree, size_tree

    write_table(enterprises(records=records), folder / "enterprises.parquet")
    for tree, name in ((region_tree(), "regions.csv"), (industry_tree(), "industries.csv"), (size_tree(), "sizes.csv")):
        write_tree(tree, folder / name)
    new_key_file(folder / "secret.key")
    path = folder / "server.toml"
    path.write_text(CONFIG, encoding="utf-8", newline="\n")
    return path
