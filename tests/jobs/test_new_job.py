"""What a first job asks for."""

from __future__ import annotations

import tomllib
from pathlib import Path

from statveil.jobs.new_job import SHOWN, new_job


def first_job(folder: Path, text: str) -> dict[str, object]:
    (folder / "records.csv").write_text(text)
    new_job(folder / "records.csv", folder / "job.toml")
    return dict(tomllib.loads((folder / "job.toml").read_text()))


def test_a_column_of_many_codes_is_a_dimension_where_there_is_none_with_fewer(tmp_path: Path) -> None:
    many = SHOWN.codes + 40
    lines = [f"c{number % many:03},{number % 2},{number * 7 + 3}" for number in range(4 * many)]
    only = "place,turnover\n" + "\n".join(f"{line.split(',')[0]},{line.split(',')[2]}" for line in lines)
    assert list(first_job(tmp_path, only)["table"]["dimensions"]) == ["place"]  # type: ignore[index]
    (tmp_path / "job.toml").unlink()
    both = "place,kind,turnover\n" + "\n".join(line.replace(",0,", ",x,").replace(",1,", ",y,") for line in lines)
    assert list(first_job(tmp_path, both)["table"]["dimensions"]) == ["kind"]  # type: ignore[index]
