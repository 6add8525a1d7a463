"""What DuckDB may use: by argument, by the environment, or as usual; no result depends on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import statveil as sv
from statveil.core.errors import InputError
from statveil.data.engines import DuckEngine
from statveil.jobs.schema import DataPart


def in_use(data: sv.Microdata, name: str) -> Any:
    with data.engine.session() as session:
        return session.query(f"SELECT current_setting('{name}') AS found")["found"][0].as_py()


def test_settings_reach_the_engine(tmp_path: Path) -> None:
    table = pa.table({"code": ["a"], "sales": [1]})
    data = sv.read_microdata(table, engine=sv.DuckDB(memory="300 MB", threads=1, temporary=str(tmp_path)), where="sales > 0")
    assert in_use(data, "threads") == 1
    assert in_use(data, "memory_limit").startswith("286")  # MiB
    assert Path(in_use(data, "temp_directory")).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_given_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in (("MEMORY", "3GB"), ("THREADS", "2"), ("TEMPORARY", str(tmp_path))):
        monkeypatch.setenv(f"STATVEIL_{name}", value)
    assert sv.DuckDB() == sv.DuckDB(memory="3GB", threads=2, temporary=str(tmp_path))
    assert sv.DuckDB(memory="4GB").memory == "4GB"


def test_a_job_names_them(tmp_path: Path) -> None:
    path = tmp_path / "firms.csv"
    path.write_text("code,sales\na,1\n")
    data = DataPart(file="firms.csv", memory="300MB", threads=1, temporary=str(tmp_path)).microdata(path)
    assert isinstance(data.engine, DuckEngine)
    assert data.engine.settings == sv.DuckDB(memory="300MB", threads=1, temporary=str(tmp_path))


@pytest.mark.parametrize(
    "wrong", [{"memory": "much"}, {"memory": "3"}, {"threads": 0}, {"threads": True}, {"temporary": "/nowhere/at/all"}]
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        sv.DuckDB(**wrong)
