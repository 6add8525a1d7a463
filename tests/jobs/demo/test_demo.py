"""What the demonstration writes before it protects anything is a job like any other."""

from __future__ import annotations

from pathlib import Path

from statveil.data.hierarchy import Hierarchy
from statveil.jobs.demo.demo import write_inputs, write_tree
from statveil.jobs.table_job import read_job


def test_the_job_fits_its_records_and_trees(tmp_path: Path) -> None:
    files = write_inputs(tmp_path, records=200)
    job = read_job(tmp_path / "job.toml")
    assert files["records"] == tmp_path / "input" / "enterprises.csv"
    assert {"region", "industry", "size", "turnover", "holding"} <= set(job.microdata.columns)
    assert len(job.rules()) == 2


def test_a_tree_comes_back_as_it_was(tmp_path: Path) -> None:
    tree = Hierarchy.from_dict({"N": ["1", "2"], "S": ["3", "4"]})
    write_tree(tree, tmp_path / "tree.csv")
    again = Hierarchy.from_csv(tmp_path / "tree.csv")
    assert (again.parent, set(again.leaves)) == (tree.parent, set(tree.leaves))
