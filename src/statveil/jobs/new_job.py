"""`statveil new`: look at the data and write a job to start from, for a table, a file of records, or a server."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, cast

from statveil.core.errors import InputError
from statveil.core.limits import known
from statveil.core.toml import to_toml
from statveil.data.microdata import ColumnProfile, profile
from statveil.data.preparation import doubtful_words, usual_words
from statveil.data.readers import read_microdata

TEMPLATE = """\
# A job for statveil: what to protect and how.   statveil protect job.toml
# Paths start from the folder of this file. Lines that start with # are off.

[data]
file = "enterprises.csv"       # CSV or Parquet, one record a line
# delimiter = ";"              # CSV: found by itself when not given
# encoding = "utf-8"           # CSV: found by itself when not given
# decimal = ","                # CSV: "." or ","
# missing = ["NA", "."]        # words that mean that a value is missing; by column: { income = ["-9"], "*" = ["NA"] }
# where = "year = 2024 and size > 0"                        # the records to keep
# derive = { profit = "turnover - costs" }                  # new columns

[table]                        # write [[table]] several times for linked tables
name = "turnover"
measure = "turnover"           # column to add up; leave out to count records
# holding = "holding"          # column with the owner: records of one owner are one respondent
# weight = "weight"            # sampling weights
# weight_policy = "units"      # "units" (a record stands for weight others) or "contribution" (weight x value is known)
# shadow = "employment"        # column that the rules look at in place of the measure
# request = "asked"            # true/false column: this respondent asked for protection
# waiver = "permits"           # true/false column: this respondent permits publication
# decimals = 0                 # decimals published; -3 publishes thousands
# weight_decimals = 2          # round the weights first
# structural_zeros = [{ region = "R1", industry = "A" }]    # positions that cannot hold a record

[table.dimensions]             # column = how its codes add up
region = { hierarchy = "regions.csv" }                      # CSV with code, parent and, if you like, label
size = "flat"                                               # the codes in the data, and a total
# industry = { digits = [1, 2] }                            # codes like A01: one digit, then two more
# place = { hierarchies = ["counties.csv", "tourism.csv"] } # several trees over the same codes
# sex = { total = "Both" }                                  # flat, with its own word for the total

# [[equation]]                 # with a [[table]] for each: one measure is the sum of others, and stays so
# total = "turnover"
# parts = ["domestic", "export"]

# [[cell_set]]                 # cells that are judged and protected as one
# cells = [{ region = "R1", size = "L" }, { region = "R1", size = "M" }]
# table = "turnover"           # needed where there are several
# level = 20                   # sensitive whatever the rules say, in percent

# Which cells are sensitive: any number of rules; the strictest level wins.
[[rule]]
type = "p-percent"             # the rest must hide the largest contribution to p percent
p = 10
# coalition = 1                # how many other respondents share what they know

[[rule]]
type = "minimum-frequency"     # fewer than n respondents
n = 3
level = 20                     # protection in percent of the value, or [lower, upper]

# [[rule]]
# type = "dominance"           # the n largest have more than k percent
# n = 2
# k = 85

# [[rule]]
# type = "prior-posterior"     # as p-percent, when others are known to q percent beforehand
# p = 10
# q = 50

# [[rule]]
# type = "request"             # only respondents who asked (table.request) and have more than so many percent
# percent = 70
# minimum = 3
# level = 20

# [[rule]]
# type = "zero"                # a zero that tells every respondent has nothing; level is an amount
# level = 5

# [[rule]]
# type = "manual"              # statuses, levels, costs and bounds of single cells
# file = "apriori.csv"
# spread = true                # "safe" on a total is meant for its only child as well

# [[rule]]
# type = "waiver"              # cells that may be published as they are
# cells = [{ region = "R1", size = "L" }]

[protection]
variant = "at-least"           # sensitive cells move by at least their level, or "exact"
norm = "l1"                    # least sum of changes, or "l2": of squared changes
weights = "inverse"            # cost of a change: "inverse" of the value, "inverse-sqrt", "unit"
# cap = 2                      # a sensitive cell moves by no more than so many times its level
# hold = ["total"]             # headline totals that stay as they are: the grand total, those of a dimension (its name)
# floors = "exact"             # levels just as the rules say; by default they are drawn above them by the office's key
# key = "office.key"           # that key's file; else STATVEIL_KEY, else this user's own
# attacks = "report"           # attacks that break the release are told; by default ("refuse") it is then not written
# search_sets = true           # also look for sets of cells that one holding dominates
method = "auto"                # or "exact"
seed = 0

# [protection.bounds]          # how far any cell may move
# percent_down = 50
# percent_up = 50
# minimum = 0
# maximum = 1000000

# [repair]                     # where no safe table exists, let something give, first things first, and list it
# order = ["cap", "inner", "margins"]
# weaken_protection = false    # dangerous: with "protection" in the order, levels give as well
# only = [{ cells = [{ region = "R1", size = "L" }] }]

# [keep]                       # a table whose statistics are kept: mean exactly; variance, correlation, slope within a distance of one
# mean = ["sensitive", { region = "R1" }]
# slope = "all"
# within = 0.005

# [tradeoff]                   # release a point of the front of change and distortion; `statveil lab tradeoff` shows it
# point = "recommended"        # or its number

[limits]
seconds = 60
gap = 0.0                      # stop when the table is certified this close to the best possible; 0.01 is 1%

[output]
formats = ["csv", "parquet", "json-stat", "sdmx-csv"]       # and "excel"
# sdmx_csv = "2.0"             # version of SDMX-CSV: "2.0" or "1.0"
internal = false               # also write originals, statuses and reasons: confidential
# compare = true               # in the internal report: what suppression, rounding and cell key would have done to the same table
"""


FILE_TEMPLATE = """\
# A job for statveil: a file of records to make safe.   statveil protect people.toml
# Paths start from the folder of this file. Lines that start with # are off.

[data]
file = "people.csv"            # CSV, Parquet, SPSS, Stata, SAS or Excel, one record a line
# delimiter = ";"              # CSV: found by itself when not given; so are encoding and decimal
# missing = ["NA", "."]        # words that mean that a value is missing; by column: { income = ["-9"], "*" = ["NA"] }
# where = "age >= 16"          # the records to keep
# derive = { adult = "age >= 18" }                          # new columns

[fields]                       # what an intruder may know of a person, and how coarsely each field may be written
age = { intervals = [5, 10, 20] }                           # classes of these widths; or edges = [[18, 65]], bottom = 5, top = 90
region = { hierarchy = "regions.csv" }                      # the levels of a tree; or arx = "h.csv", grc = ["a.grc"]
sex = {}                                                    # as it is, or blank
# job = { own = { short = { "baker" = "food", "vet" = "health" } } }

[safety]
threshold = 3                  # fewer than three records with the same values are rare
order = 3                      # in every combination of up to three fields; "full": of all of them (k-anonymity)
rule = "original"              # what a blank means: "original", "recount" (strictest), "wildcard" (weak)
# candidates = 3               # values that each blank could hide: further blanks, so that none can be guessed back (M03)
# weight = "weight"            # sampling weights, for estimates of risk; counting = "weights" compares their sums
# household = "household"      # with shared = ["region"]: a blank of one member is a blank of all

[recoding]
method = "auto"                # proves how far it is from the best possible
# fixed = { age = "width 10" } # this one is decided, the others are planned

# [[perturb.step]]             # columns that are no keys may be perturbed in the same run
# method = "microaggregation"  # at least k records share each value; or "noise", "rank-swapping", "pram", "quantile-coding"
# columns = ["income", "tax"]
# k = 3

[limits]
seconds = 60

[output]
file = "safe.csv"              # or .parquet, .sav, .dta
drop = ["name"]                # columns left out: names, numbers of persons
# sensitive = ["illness"]      # its diversity within classes is told in the report
# earlier = ["last-year.csv"]  # releases of the same records that are out already
attacks = "report"             # or "refuse"
"""


def write_template(path: Path, kind: str = "table") -> Path:
    """Write the commented job; never over an existing file."""
    return write_new(path, FILE_TEMPLATE if kind == "records" else TEMPLATE)


def write_new(path: Path, text: str) -> Path:
    """Write a file that must not be there yet."""
    if path.is_dir():
        raise InputError(f"{path} is a folder.", hint="Name the job file to write, such as job.toml.")
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{path} exists already and is not overwritten.", hint="Name another file.") from None
    except FileNotFoundError:
        raise InputError(f"The folder {path.parent} does not exist.") from None
    return path


Kind = Literal["table", "records", "server"]
KINDS = ("table", "records", "server")
RULES = [{"type": "p-percent", "p": 10}, {"type": "minimum-frequency", "n": 3, "level": 20}]


class Shown(NamedTuple):
    """Sizes by judgement: how much a first job asks for."""

    dimensions: int = 3
    keys: int = 6
    codes: int = 200
    """A column with more codes wants a tree, and is suggested as a dimension only where there is none with fewer."""
    classes: int = 15
    """Ages and years with no fewer different values get classes; of owners there are more."""
    candidates: int = 3
    """Values that each blank could hide: what attack M03 cannot guess back."""


SHOWN = Shown()
WEIGHTS = ("weight", "wgt")
HOLDINGS = frozenset(("holding", "owner", "group", "parent"))
"""Words in the name of a column that tells owners apart, beside words for a number; `age_group` is another."""
HOUSEHOLDS = frozenset(("household", "hh", "hid", "hhid", "hhnr", "hhno", "family"))
"""Words in the name of a column that tells households apart, beside words for a number; `hhsize` and `household_type` are others."""
_SERIAL = frozenset(("id", "ori", "nr", "no", "number", "code", ""))
AGES = ("age", "year", "birth", "birthyear", "yob")
_PERSONAL = """
sex gender region regio province state county district country native nationality citizenship birthplace town city municipality urbrur
marital marstat civil hhcivil ethnicity etni race religion language education educ occupation profession job relat relation kindpers
"""
PERSONAL = frozenset((*AGES, *_PERSONAL.split()))
"""Words in names of columns that say what neighbours and colleagues know of a person: key fields to start from."""


class Roles(NamedTuple):
    """What each column may be for, by its look and its name."""

    dimensions: list[ColumnProfile]
    measures: list[str]
    weight: str | None
    holding: str | None
    unit: str | None
    household: str | None
    identifiers: list[str]
    """Columns that name single records or persons; the holding is none of them."""
    ages: list[ColumnProfile]
    """Ages and years that look like amounts: children's have one digit, others two."""


def new_job(data: Path, target: Path, kind: Kind = "table") -> list[ColumnProfile]:
    """Write the job; what the columns look like is given back, to be shown."""
    known("kind", kind, KINDS)
    records = read_microdata(data)
    usual = usual_words(records)
    missing, columns = _told_missing(data, usual, profile(records))
    content = _with_missing(_content(kind, os.path.relpath(data, target.parent), columns), missing)
    gaps = _gaps(content, columns)
    doubtful = {name: words for name, words in doubtful_words(records).items() if name not in missing}
    head = _HEADS[kind].format(target=target.name) + gaps.in_words() + _household_in_words(kind, columns)
    trees = "" if kind == "records" else _trees_in_words(columns)
    text = head + trees + to_toml(_with_gaps_settled(content, gaps)) + _columns_in_words(columns) + _doubts_in_words(doubtful)
    write_new(target, text)
    return columns


def _told_missing(
    data: Path, usual: Mapping[str, list[str]], columns: list[ColumnProfile]
) -> tuple[dict[str, list[str]], list[ColumnProfile]]:
    """The words for missing values of columns that are numbers without them, and the look of the columns then.

    Among codes such a word may be one of them: NA is Namibia.
    """
    if not usual:
        return {}, columns
    cleaned = profile(read_microdata(data, missing=usual))
    missing = {each.name: usual[each.name] for each in cleaned if each.name in usual and each.span is not None}
    return missing, [after if after.name in missing else before for before, after in zip(columns, cleaned, strict=True)]


def _with_missing(content: dict[str, object], missing: Mapping[str, list[str]]) -> dict[str, object]:
    """The job with these words for missing values where its records are named."""
    if not missing:
        return content
    if "dataset" in content:
        return {**content, "dataset": [{**part, "missing": missing} for part in cast("list[dict[str, object]]", content["dataset"])]}
    return {**content, "data": {**cast("dict[str, object]", content["data"]), "missing": missing}}


class Gaps(NamedTuple):
    """Columns that the job uses and that have missing values, which a table may not have, with their numbers."""

    amounts: dict[str, int]
    codes: dict[str, int]

    def settled(self, part: dict[str, object]) -> dict[str, object]:
        """The part of the job that names the records: without an amount they are left out, missing codes get a name."""
        where = " and ".join(f"{in_expressions(name)} is not missing" for name in self.amounts)
        derive = {_known(name): f"if_missing({in_expressions(name)}, 'unknown')" for name in self.codes}
        return {**part, **({"where": where} if where else {}), **({"derive": derive} if derive else {})}

    def named(self, table: dict[str, object]) -> dict[str, object]:
        dimensions = cast("dict[str, object]", table["dimensions"])
        return {**table, "dimensions": {_known(name) if name in self.codes else name: tree for name, tree in dimensions.items()}}

    def in_words(self) -> str:
        lines = [f"# {name}: {number:,} records without it are left out (where)." for name, number in self.amounts.items()]
        lines += [f"# {name}: {number:,} missing codes are called unknown (derive)." for name, number in self.codes.items()]
        return "\n".join(lines) + "\n\n" if lines else ""


def _gaps(content: dict[str, object], columns: Sequence[ColumnProfile]) -> Gaps:
    if "fields" in content:
        return Gaps({}, {})  # a safe file may have them
    table = cast("list[dict[str, object]]", content["dataset"])[0] if "dataset" in content else cast("dict[str, object]", content["table"])
    measures = table["measure"]
    amounts = [each.get("column") for each in measures] if isinstance(measures, list) else [measures]
    missing = {each.name: each.missing for each in columns if each.missing}
    return Gaps(
        {name: number for name, number in missing.items() if name in (*amounts, table.get("weight"))},
        {name: number for name, number in missing.items() if name in cast("dict[str, object]", table["dimensions"])},
    )


def _trees_in_words(columns: Sequence[ColumnProfile]) -> str:
    """Codes that share their first characters may be a tree; only who knows them can say so."""
    likely = [each for each in roles_of(columns).dimensions[: SHOWN.dimensions] if each.width > 1 and 1 < each.heads <= each.distinct // 2]
    lines = [f"# If the first character of {each.name} is a group: {each.name} = {{ digits = [1, {each.width - 1}] }}" for each in likely]
    return "\n".join(lines) + "\n\n" if lines else ""


def _household_in_words(kind: Kind, columns: Sequence[ColumnProfile]) -> str:
    household = roles_of(columns).household if kind == "records" else None
    if household is None:
        return ""
    return (
        f"# {household} tells households apart and is left out of the safe file. To blank a value for all members of a household:\n"
        f'# household = {json.dumps(household, ensure_ascii=False)} and shared = ["region"], under [safety], in place of candidates.\n\n'
    )


def _with_gaps_settled(content: dict[str, object], gaps: Gaps) -> dict[str, object]:
    if not any(gaps):
        return content
    if "dataset" in content:
        return {**content, "dataset": [gaps.named(gaps.settled(part)) for part in cast("list[dict[str, object]]", content["dataset"])]}
    data, table = (cast("dict[str, object]", content[name]) for name in ("data", "table"))
    return {**content, "data": gaps.settled(data), "table": gaps.named(table)}


def _known(name: str) -> str:
    return f"{name}_known"


def in_expressions(name: str) -> str:
    return name if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) else f"`{name}`"


def _doubts_in_words(doubtful: Mapping[str, list[str]]) -> str:
    """Words that are taken for codes, and may be none."""
    lines = [f"#   {name}: {', '.join(words)}" for name, words in doubtful.items()]
    return "\n# Codes here; if they mean that a value is missing, say so under missing:\n" + "\n".join(lines) + "\n" if lines else ""


def roles_of(columns: Sequence[ColumnProfile]) -> Roles:
    weights = [each.name for each in columns if each.span is not None and _is_weight(each)]
    holding = next((each.name for each in columns if _is_holding(each)), None)
    household = next((each.name for each in columns if _is_household(each)), None)
    rest = [each for each in columns if each.name not in (holding, household, *weights)]
    codes = [each for each in rest if each.look == "code" and each.distinct > 1]
    codes = [each for each in codes if each.distinct <= SHOWN.codes] or codes
    amounts = sorted((each for each in rest if each.look == "number"), key=lambda each: -each.distinct)
    identifiers = [each.name for each in rest if each.look == "identifier"]
    ages = [each for each in amounts if _is_age(each)]
    codes = sorted(codes, key=lambda each: each.distinct)
    unit, weight = (next(iter(names), None) for names in (identifiers, weights))
    return Roles(codes, [each.name for each in amounts], weight, holding, unit, household, identifiers, ages)


def _is_weight(column: ColumnProfile) -> bool:
    return column.look != "identifier" and (any(word in column.name.lower() for word in WEIGHTS) or "wt" in _words_of(column))


def _is_household(column: ColumnProfile) -> bool:
    words = _words_of(column)
    return column.distinct > 1 and bool(words & HOUSEHOLDS) and words <= HOUSEHOLDS | _SERIAL


def _is_holding(column: ColumnProfile) -> bool:
    words = _words_of(column)
    return column.distinct > SHOWN.classes and bool(words & HOLDINGS) and words <= HOLDINGS | _SERIAL


def _content(kind: Kind, file: str, columns: Sequence[ColumnProfile]) -> dict[str, object]:
    roles = roles_of(columns)
    if not roles.dimensions:
        raise InputError("No column of the data looks like codes to tabulate by.", hint="`statveil new` without data writes a job to edit.")
    return {"table": _table, "records": _records, "server": _server}[kind](Path(file).as_posix(), roles)


def _table(file: str, roles: Roles) -> dict[str, object]:
    measure = roles.measures[0] if roles.measures else None
    table = {"name": measure or "count", "measure": measure, "holding": roles.holding, "weight": roles.weight, "dimensions": _flat(roles)}
    return {"data": {"file": file}, "table": table, "rule": RULES, "limits": {"seconds": 60}}


def _records(file: str, roles: Roles) -> dict[str, object]:
    likely = sorted(roles.dimensions, key=lambda each: (not _is_age(each), not _words_of(each) & PERSONAL))
    fields: dict[str, object] = {each.name: _menu(each) for each in (*likely[: SHOWN.keys], *roles.ages)}
    dropped = [name for name in (*roles.identifiers, roles.household) if name is not None and name not in fields]
    return {
        "data": {"file": file},
        "fields": fields,
        "safety": {"threshold": 3, "order": 3, "candidates": SHOWN.candidates, **({"weight": roles.weight} if roles.weight else {})},
        "output": {"file": "safe.csv", "drop": dropped},
    }


def _is_age(column: ColumnProfile) -> bool:
    return bool(_words_of(column) & set(AGES))


def _words_of(column: ColumnProfile) -> set[str]:
    """The words that a column's name is made of: `native-country` is two, `EDUC1` is `educ`."""
    return set(re.split(r"[^a-z]+", column.name.lower()))


def _menu(column: ColumnProfile) -> dict[str, object]:
    """Classes for ages and years, three widths from a fourteenth of the span on; other codes stay as they are."""
    if column.span is None or column.distinct < SHOWN.classes or not _is_age(column):
        return {}
    wanted = column.span / 14
    widths = [step * 10.0 ** math.floor(math.log10(wanted)) for step in (1, 2, 5, 10)]
    nearest: float = min(widths, key=lambda width: abs(width - wanted))
    first = max(1, round(nearest))
    return {"intervals": [first, 2 * first, 4 * first]}


def _server(file: str, roles: Roles) -> dict[str, object]:
    if roles.unit is None:
        raise InputError(
            "No column of the data tells records apart, which a server needs.", hint="Add a column with an id for each record."
        )
    measures: list[dict[str, object]] = [{"id": name, "column": name} for name in roles.measures]
    measures.append({"id": "records", "count": True})
    part = {"id": Path(file).stem, "file": file, "unit": roles.unit, "holding": roles.holding, "weight": roles.weight}
    return {
        "key": {"file": "secret.key"},
        "store": {"file": "store.sqlite"},
        "dataset": [{**part, "dimensions": _flat(roles), "measure": measures, "rule": RULES}],
    }


def _flat(roles: Roles) -> dict[str, object]:
    return {each.name: "flat" for each in roles.dimensions[: SHOWN.dimensions]}


def _columns_in_words(columns: Sequence[ColumnProfile]) -> str:
    """The columns as they look, so that the job can be edited without the data at hand."""
    lines = [f"#   {each.name}: {each.look}, {each.distinct:,} different, {each.missing:,} missing" for each in columns]
    return "\n# The columns of the data:\n" + "\n".join(lines) + "\n"


_HEADS = {
    "table": """# A table to protect: look it over, then run  statveil protect {target}
# A tree of codes: region = {{ hierarchy = "regions.csv" }}. Every key is explained in what `statveil new` writes without data.

""",
    "records": """# A file of records to make safe: look it over, then run  statveil protect {target}
# [fields] names what an intruder may know; `statveil new --kind records` without data explains every key. With candidates = 3 further
# values are blanked, so that nobody can guess those back that give themselves away; without it there are fewer blanks.

""",
    "server": """# A table server: look it over, run  statveil serve --new-key secret.key,  then  statveil serve {target}

""",
}
