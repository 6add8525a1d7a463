"""The job file: what it holds becomes objects, what is wrong with it is told by its key."""

from __future__ import annotations

import copy
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from statveil.core.errors import FormatError, HierarchyError, InputError, RuleError, UnknownColumn
from statveil.core.limits import Limits
from statveil.data.hierarchy import Hierarchy
from statveil.jobs.new_job import TEMPLATE
from statveil.jobs.schema import RULE_TYPES, check_job
from statveil.jobs.table_job import TableJob, read_job
from statveil.protect.options import Bounds, Options
from statveil.risk.rules import Dominance, MinimumFrequency, PPercent, PriorPosterior, Request, ZeroRule
from statveil.risk.rules.manual import Manual, Waiver

SMALLEST: dict[str, Any] = {
    "data": {"file": "village.csv"},
    "table": {"dimensions": {"street": "flat"}},
    "rule": [{"type": "p-percent", "p": 10}],
}


def job_with(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(SMALLEST), **changes}


def complaint(**changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        check_job(job_with(**changes))
    return str(caught.value)


@pytest.fixture
def village(tmp_path: Path) -> Path:
    (tmp_path / "village.csv").write_text("street,trade,income\nA1,vet,10\nA2,baker,20\nB1,baker,30\n", encoding="utf-8")
    (tmp_path / "streets.csv").write_text("code,parent\nA,\nA1,A\nA2,A\nB,\nB1,B\n", encoding="utf-8")
    (tmp_path / "banks.csv").write_text("code,parent\nNorth,\nA1,North\nB1,North\nSouth,\nA2,South\n", encoding="utf-8")
    (tmp_path / "apriori.csv").write_text("street,status\nA1,safe\n", encoding="utf-8")
    return tmp_path


def write_job(folder: Path, text: str) -> TableJob:
    (folder / "job.toml").write_text(text, encoding="utf-8")
    return read_job(folder / "job.toml")


HEAD = '[data]\nfile = "village.csv"\n[[rule]]\ntype = "p-percent"\np = 10\n'


def test_the_smallest_job_has_the_defaults() -> None:
    parts = check_job(SMALLEST)
    assert (parts.protection.variant, parts.protection.method, parts.limits.seconds) == ("at-least", "auto", 60.0)
    assert parts.output.formats == ["csv", "parquet", "json-stat", "sdmx-csv"]
    assert parts.output.internal is False


def test_the_job_that_init_writes_is_valid_and_so_is_everything_it_comments_out() -> None:
    check_job(tomllib.loads(TEMPLATE))
    on = [
        line.removeprefix("# ") if line.startswith("# ") and ("=" in line or "[" in line) and ":" not in line.split("#")[1] else line
        for line in TEMPLATE.splitlines()
    ]
    parts = check_job(tomllib.loads("\n".join(on)))
    assert {rule.type for rule in parts.rule} == set(RULE_TYPES)
    assert parts.table[0].dimensions["industry"].digits == [1, 2]
    assert parts.protection.cap == 2


def test_numbers_stay_as_they_are_written() -> None:
    [rule] = check_job(job_with(rule=[{"type": "p-percent", "p": 10}])).rule
    assert repr(rule.p) == "10"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"limts": {}}, ["unknown key 'limts'", "Did you mean 'limits'?", "Known: data, table, rule"]),
        ({"protection": {"varient": "exact"}}, ["protection: unknown key 'varient'", "Did you mean 'variant'?"]),
        ({"protection": {"variant": "most"}}, ["protection.variant: 'most' is not allowed", "'at-least' or 'exact'"]),
        ({"protection": {"seed": 1.5}}, ["protection.seed: must be a whole number"]),
        ({"protection": {"seed": -1}}, ["protection.seed: must be 0 or more, not -1"]),
        ({"protection": {"bounds": 3}}, ["protection.bounds: must be a table of keys"]),
        ({"rule": [{"type": "p-percent", "p": 10}, {"type": "dominance", "n": 1, "k": "70"}]}, ["rule[2].k: must be a number, not text"]),
        ({"rule": [{"type": "p-percent"}]}, ["rule[1].p: is missing"]),
        ({"rule": [{"type": "p-percent", "p": True}]}, ["rule[1].p: must be a number, not true or false"]),
        ({"rule": [{"type": "percent"}]}, ["rule[1]: type 'percent' is not a rule", "p-percent"]),
        ({"rule": [{"p": 3}]}, ["rule[1]: type is missing", "dominance"]),
        ({"rule": [{"type": "zero", "level": [1, 2, 3]}]}, ["rule[1].level: must be one number, or two"]),
        ({"rule": []}, ["rule: needs at least one entry"]),
        ({"rule": {"type": "zero", "level": 1}}, ["rule: must be a list"]),
        ({"table": {"dimensions": {"street": {"hierarchi": "x"}}}}, ["table.dimensions.street: unknown key 'hierarchi'"]),
        ({"table": [{"dimensions": {"street": 3}}]}, ["table[1].dimensions.street: must be a table of keys"]),
        (
            {"table": {"dimensions": {"a": {"hierarchy": "x", "digits": [1]}}}},
            ["table.dimensions.a: hierarchy and digits exclude each other"],
        ),
        ({"table": {}}, ["table.dimensions: is missing", "[table.dimensions]"]),
        ({"table": {"dimensions": {"a": "flat"}, "name": ""}}, ["table.name: must not be empty"]),
        ({"table": {"dimensions": {"a": "flat"}, "name": " "}}, ["table.name: must not be empty"]),
        *(
            (
                {"table": {"dimensions": {"a": "flat", "x": "flat"}, key: "x"}},
                [f"table: the column 'x' is the {key} and cannot be a dimension"],
            )
            for key in ("measure", "weight", "holding", "shadow")
        ),
        ({"limits": {"seconds": "1"}}, ["limits.seconds: must be a number, not text ('1')"]),
        ({"output": {"formats": ["csv", "xls"]}}, ["output.formats[2]: 'xls' is not allowed", "excel"]),
        ({"data": {"file": "x", "decimal": ";"}}, ["data.decimal: ';' is not allowed"]),
        ({"data": {"file": tomllib.loads("d = 2020-01-01")["d"]}}, ["data.file: must be text in quotes, not a date or time"]),
    ],
)
def test_a_fault_is_told_by_its_key(changes: dict[str, Any], words: list[str]) -> None:
    message = complaint(**changes)
    for each in words:
        assert each in message


def test_a_missing_part_is_told_with_what_to_add() -> None:
    for part, words in (("rule", "[[rule]]"), ("data", "[data]"), ("table", "[table]")):
        with pytest.raises(InputError, match=rf"^{part}: is missing\. Add {re.escape(words)}"):
            check_job({name: content for name, content in SMALLEST.items() if name != part})


def test_all_faults_are_told_at_once() -> None:
    assert complaint(limits={"seconds": "x"}, output={"internal": 1}).count("\n  ") == 2


def test_every_rule_is_built(village: Path) -> None:
    job = write_job(
        village,
        """
        rule = [
          { type = "minimum-frequency", n = 3, level = [10, 20] },
          { type = "dominance", n = 2, k = 85, lower_factor = 0.5 },
          { type = "p-percent", p = 10, coalition = 2 },
          { type = "prior-posterior", p = 10, q = 50 },
          { type = "request", percent = 70, minimum = 3 },
          { type = "zero", level = 5 },
          { type = "manual", file = "apriori.csv", level = 15 },
          { type = "waiver", cells = [{ street = "A1" }] },
        ]
        data.file = "village.csv"
        table.dimensions.street = "flat"
        """,
    )
    first_six = [
        MinimumFrequency(3, level=(10, 20)),
        Dominance(2, 85, lower_factor=0.5),
        PPercent(10, coalition=2),
        PriorPosterior(10, 50),
        Request(70, minimum=3),
        ZeroRule(5),
    ]
    rules = job.rules()
    assert rules[:6] == first_six
    assert isinstance(rules[6], Manual)
    assert rules[6].level == 15
    assert rules[7] == Waiver([{"street": "A1"}])


def test_an_impossible_parameter_names_its_rule(village: Path) -> None:
    job = write_job(village, HEAD.replace("p = 10", "p = -1") + '[table.dimensions]\nstreet = "flat"\n')
    with pytest.raises(RuleError, match=r"^rule\[1\]: PPercent: p"):
        job.rules()


def test_every_kind_of_dimension_is_built(village: Path) -> None:
    job = write_job(
        village,
        HEAD
        + """
        [[table]]
        name = "one"
        measure = "income"
        [table.dimensions]
        street = { hierarchies = ["streets.csv", "banks.csv"] }
        trade = { total = "All" }
        [[table]]
        name = "two"
        [table.dimensions]
        street = { digits = [1, 1], total = "Village" }
        trade = {}
        """,
    )
    one, two = job.specs()
    assert (one.name, one.measure, two.measure) == ("one", "income", None)
    streets, banks = one.dimensions["street"]  # type: ignore[misc]
    assert streets.children["A"] == ("A1", "A2")  # type: ignore[union-attr]
    assert banks.children["North"] == ("A1", "B1")  # type: ignore[union-attr]
    assert one.dimensions["trade"] == Hierarchy.flat(["baker", "vet"], total="All")
    digits = two.dimensions["street"]
    assert isinstance(digits, Hierarchy)
    assert (digits.total, digits.children["A"]) == ("Village", ("A1", "A2"))
    assert two.dimensions["trade"] is None
    assert job.name == "tables"


def test_options_and_limits_are_those_of_the_job(village: Path) -> None:
    job = write_job(
        village,
        HEAD
        + """
        [table]
        dimensions = { street = "flat" }
        [protection]
        variant = "exact"
        norm = "l2"
        weights = "unit"
        cap = 2
        bounds = { percent_up = 50, minimum = 0 }
        [limits]
        seconds = 3
        gap = 0.01
        """,
    )
    assert job.options() == Options(variant="exact", norm="l2", weights="unit", cap=2, bounds=Bounds(percent_up=50, minimum=0))
    assert job.limits() == Limits(seconds=3, gap=0.01)
    assert job.within(7).limits() == Limits(seconds=7, gap=0.01)
    assert tomllib.loads(job.within(7).text) == {**job.content, "limits": {"seconds": 7, "gap": 0.01}}
    assert job.within(None) is job


@pytest.mark.parametrize(("part", "where"), [("limits = { seconds = -1 }", "limits: "), ("protection = { cap = 0.5 }", "protection: ")])
def test_an_impossible_setting_names_its_part(village: Path, part: str, where: str) -> None:
    job = write_job(village, part + "\n" + HEAD + '[table.dimensions]\nstreet = "flat"\n')
    with pytest.raises(InputError, match=f"^{where}"):
        (job.limits(), job.options())


def test_paths_start_from_the_job_file(village: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    job = write_job(village, HEAD + '[table.dimensions]\nstreet = { hierarchy = "streets.csv" }\n')
    assert job.microdata.columns == ("street", "trade", "income")
    assert job.specs()[0].dimensions["street"] is not None


def test_missing_files_and_columns_are_told_by_key(village: Path) -> None:
    job = write_job(village, HEAD + '[table.dimensions]\nstreet = { hierarchy = "nowhere.csv" }\n')
    with pytest.raises(InputError, match=r"^table\.dimensions\.street: There is no file nowhere\.csv"):
        job.specs()
    job = write_job(village, HEAD + "[table.dimensions]\nroad = { digits = [1, 1] }\n")
    with pytest.raises(UnknownColumn, match=r"^table\.dimensions\.road: "):
        job.specs()
    job = write_job(village, HEAD + "[table.dimensions]\nstreet = { digits = [1] }\n")
    with pytest.raises(HierarchyError, match=r"^table\.dimensions\.street: "):
        job.specs()
    job = write_job(village, HEAD.replace("village.csv", ".") + '[table.dimensions]\nstreet = "flat"\n')
    with pytest.raises(InputError, match=r"^data: \. is a folder"):
        _ = job.microdata


def test_a_job_that_is_no_toml_or_no_utf8_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "job.toml"
    file.write_text("[data]\nfile = village.csv\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"is not valid TOML: .*line 2"):
        read_job(file)
    file.write_bytes('file = "d\u00f6rp"'.encode("latin-1"))
    with pytest.raises(FormatError, match="is not UTF-8 text"):
        read_job(file)
    with pytest.raises(InputError, match="There is no file") as caught:
        read_job(tmp_path / "none.toml")
    assert "Paths in a job" not in caught.value.hint


def test_a_byte_order_mark_does_no_harm(village: Path) -> None:
    (village / "job.toml").write_text("\ufeff" + HEAD + '[table.dimensions]\nstreet = "flat"\n', encoding="utf-8")
    assert read_job(village / "job.toml").name == "table"
