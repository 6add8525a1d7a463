"""What a first job asks for."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from statveil.jobs.new_job import SHOWN, Kind, new_job


def first_job(folder: Path, text: str, kind: Kind = "table") -> dict[str, Any]:
    (folder / "records.csv").write_text(text)
    new_job(folder / "records.csv", folder / "job.toml", kind)
    return dict(tomllib.loads((folder / "job.toml").read_text()))


def test_a_column_of_many_codes_is_a_dimension_where_there_is_none_with_fewer(tmp_path: Path) -> None:
    many = SHOWN.codes + 40
    lines = [f"c{number % many:03},{number % 2},{number * 7 + 3}" for number in range(4 * many)]
    only = "place,turnover\n" + "\n".join(f"{line.split(',')[0]},{line.split(',')[2]}" for line in lines)
    assert list(first_job(tmp_path, only)["table"]["dimensions"]) == ["place"]
    (tmp_path / "job.toml").unlink()
    both = "place,kind,turnover\n" + "\n".join(line.replace(",0,", ",x,").replace(",1,", ",y,") for line in lines)
    assert list(first_job(tmp_path, both)["table"]["dimensions"]) == ["kind"]


def in_households(size: int = 40) -> str:
    """Persons of two to a household, with two weights of few values, a size of the household and a growth rate."""
    rows = (f"P{n:03},h{n // 2},{'mf'[n % 2]},{'abc'[n % 3]},{1 + n % 3},{2 + n % 2 / 2},{1 + n % 4},{n % 5},{n * 7}" for n in range(size))
    return "person,hh_id,sex,town,hwgt,design_weight,hhsize,growth,pay\n" + "\n".join(rows)


def test_weights_and_the_number_of_the_household_are_no_keys(tmp_path: Path) -> None:
    job = first_job(tmp_path, in_households(), "records")
    assert set(job["fields"]) == {"sex", "town", "hhsize", "growth"}
    assert job["safety"]["weight"] == "hwgt"
    assert job["safety"]["candidates"] == 3  # what M03 cannot guess back
    assert job["output"]["drop"] == ["person", "hh_id"]
    assert "# hh_id tells households apart and is left out" in (tmp_path / "job.toml").read_text()


def test_a_server_weighs_its_records(tmp_path: Path) -> None:
    job = first_job(tmp_path, in_households(), "server")
    (part,) = job["dataset"]
    assert part["weight"] == "hwgt"
    assert part["unit"] == "person"
    assert "hh_id" not in part["dimensions"]
    assert {each.get("column") for each in part["measure"]} == {"pay", None}


def of_firms(size: int = 60) -> str:
    """Two firms in three have an owner with a number of its own; a group of ages, and one of few codes, are no owners."""
    rows = (f"F{n:03},{n // 3 * 2 + 9_901},{'abc'[n % 3]},{'xy'[n % 2]},{'ABC'[n % 3]}{1 + n % 4},{10 * n}" for n in range(size))
    return "firm,group_id,age_group,group,trade,turnover\n" + "\n".join(rows)


def test_the_number_of_an_owner_is_no_amount_and_groups_of_few_codes_are_no_owners(tmp_path: Path) -> None:
    table = first_job(tmp_path, of_firms())["table"]
    assert table["holding"] == "group_id"
    assert table["measure"] == "turnover"
    assert set(table["dimensions"]) == {"age_group", "group", "trade"}


def test_codes_whose_first_letters_are_shared_may_have_a_tree_and_are_told(tmp_path: Path) -> None:
    first_job(tmp_path, of_firms())
    text = (tmp_path / "job.toml").read_text()
    assert "# If the first character of trade is a group: trade = { digits = [1, 1] }" in text
    assert "first character of group" not in text
