"""Spark gives what DuckDB gives, bit for bit: every array of a table, every key of a file, whatever the partitions."""

from __future__ import annotations

import datetime
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import statveil as sv
from statveil.core.errors import EngineFailed, InputError
from statveil.data.engines import column, engine_over_arrow, engine_over_spark
from statveil.data.engines.protocol import WORDS
from statveil.records.coding import CodedFile, code_file
from statveil.tables.table import Table
from statveil.tables.tabulate import tabulate

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed: pip install 'statveil[spark]'"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17 on the path"),
]

AREAS = sv.Hierarchy.from_dict({"North": ["a", "b"], "South": {"Coast": ["c"], "d": None}})
COASTS = sv.Hierarchy.from_dict({"Sea": ["a", "c"], "Land": ["b", "d"]})


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "1g")
    )
    # Most of the time would go into compiling queries that run once on few records, and into planning them again as they run.
    builder = builder.config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    builder = builder.config("spark.sql.adaptive.enabled", "false").config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def firms(size: int, seed: int) -> pa.Table:
    """Decimals, ties, negative amounts, groups of several records, weights and flags."""
    rng = np.random.default_rng(seed)
    cents = rng.integers(-5_000, 90_000, size)
    return pa.table(
        {
            "area": rng.choice(list("abcd"), size),
            "trade": rng.choice(["01", "1", "ü x", "z'"], size),
            "sales": pa.array([f"{value / 100:.2f}" for value in cents]),
            "exact": pa.array([Decimal(int(value)).scaleb(-2) for value in cents], pa.decimal128(12, 2)),
            "floating": cents / 4.0,
            "jobs": rng.integers(0, 4, size),
            "owner": [f"firm {number}" for number in rng.integers(0, size // 2 + 1, size)],
            "weight": rng.choice(["0.5", "1", "2.25", "7"], size),
            "long_weight": rng.choice(["1.00000049", "2.5", "3.0000005", "4.0000015"], size),
            "waived": rng.choice(["yes", "No", " true "], size),
            "asked": rng.random(size) < 0.2,
        }
    )


def both(spark: Any, table: pa.Table, partitions: int = 5) -> tuple[sv.Microdata, sv.Microdata]:
    return sv.read_microdata(table), sv.read_microdata(spark.createDataFrame(table).repartition(partitions))


def assert_same_table(one: Table, other: Table) -> None:
    for each in fields(Table):
        mine, its = getattr(one, each.name), getattr(other, each.name)
        if isinstance(mine, np.ndarray):
            assert mine.dtype == its.dtype, each.name
            assert np.array_equal(mine, its), each.name
    assert (one.input_hash, one.scale, one.rule_scale, one.decimals) == (other.input_hash, other.scale, other.rule_scale, other.decimals)
    for mine, its in zip(one.views, other.views, strict=True):
        assert np.array_equal(mine.cell, its.cell)
        assert np.array_equal(mine.coordinates, its.coordinates)


SPECS: dict[str, dict[str, Any]] = {
    "records": {"measure": "sales"},
    "counts": {"measure": None},
    "decimal type": {"measure": "exact"},
    "floating point": {"measure": "floating"},
    "holdings": {"measure": "sales", "holding": "owner"},
    "holdings with flags": {"measure": "sales", "holding": "owner", "waiver": "waived", "request": "asked"},
    "weights as units": {"measure": "sales", "weight": "weight", "waiver": "waived"},
    "weights as contributions": {"measure": "sales", "weight": "weight", "weight_policy": "contribution", "holding": "owner"},
    "rounded weights": {"measure": "jobs", "weight": "long_weight", "weight_decimals": 6},
    "shadow": {"measure": "sales", "shadow": "jobs"},
}


@pytest.mark.parametrize("name", SPECS)
def test_a_table_is_the_same_in_every_bit(spark: Any, name: str) -> None:
    in_duck, in_spark = both(spark, firms(400, seed=len(name)))
    spec = sv.TableSpec(dimensions={"area": [AREAS, COASTS], "trade": None}, **SPECS[name])
    assert_same_table(tabulate(in_duck, spec), tabulate(in_spark, spec))


@pytest.mark.parametrize("holding", ["owner", None])
def test_linked_tables_have_the_same_cells_in_common(spark: Any, holding: str | None) -> None:
    in_duck, in_spark = both(spark, firms(120, seed=1))
    specs = [
        sv.TableSpec(dimensions={"area": AREAS, "trade": None}, measure="sales", holding=holding, name="wide"),
        sv.TableSpec(dimensions={"area": COASTS}, measure="sales", holding=holding, name="narrow"),
    ]
    one = tabulate(in_duck, specs)
    assert_same_table(one, tabulate(in_spark, specs))
    assert len({int(cell) for view in one.views for cell in view.cell}) < sum(view.cell.size for view in one.views)


def test_partitions_and_the_order_of_records_do_not_matter(spark: Any) -> None:
    table = firms(300, seed=3)
    spec = sv.TableSpec(dimensions={"area": None, "trade": None}, measure="sales", holding="owner")
    first = tabulate(both(spark, table, partitions=1)[1], spec)
    shuffled = table.take(np.random.default_rng(0).permutation(table.num_rows))
    assert_same_table(first, tabulate(both(spark, shuffled, partitions=7)[1], spec))


def test_a_session_that_does_not_stop_at_overflows_gives_the_same(spark: Any) -> None:
    in_duck, in_spark = both(spark, firms(200, seed=12))
    spec = sv.TableSpec(dimensions={"area": AREAS, "trade": None}, measure="sales", weight="weight")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        assert_same_table(tabulate(in_duck, spec), tabulate(in_spark, spec))
        with pytest.raises(InputError, match="too large to be added up exactly"):
            tabulate(
                both(spark, pa.table({"area": ["a", "a"], "sales": [2**62, 2**62]}))[1],
                sv.TableSpec(dimensions={"area": None}, measure="sales"),
            )
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_a_release_from_spark_has_the_bytes_of_one_from_duckdb(spark: Any, tmp_path: Path) -> None:
    spec = sv.TableSpec(dimensions={"area": AREAS, "trade": None}, measure="sales", holding="owner")
    texts = []
    for number, data in enumerate(both(spark, firms(200, seed=8))):
        release = sv.protect_table(data, spec, rules=[sv.PPercent(10), sv.MinimumFrequency(3)], limits=sv.Limits(seconds=120, gap=1.0))
        path = tmp_path / f"{number}.csv"
        release.to_csv(path)
        texts.append(path.read_bytes())
    assert texts[0] == texts[1]


def test_parquet_files_are_read_by_spark_itself(spark: Any, tmp_path: Path) -> None:
    table = firms(200, seed=5)
    folder = tmp_path / "firms.parquet"
    folder.mkdir()
    for part in range(4):
        pq.write_table(table.slice(part * 50, 50), folder / f"part-{part}.parquet")
    spec = sv.TableSpec(dimensions={"area": AREAS, "trade": None}, measure="sales", holding="owner")
    assert_same_table(tabulate(sv.read_microdata(table), spec), tabulate(sv.read_microdata(folder, engine="spark"), spec))


def assert_same_keys(one: CodedFile, other: CodedFile) -> None:
    assert one.values == other.values
    for name in ("codes", "count", "weight", "mass", "numbers"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    if one.households is not None:
        assert other.households is not None
        assert one.households.names.equals(other.households.names)
        assert np.array_equal(one.households.key, other.households.key)


@pytest.mark.parametrize(
    "options",
    [{}, {"weight": "weight"}, {"household": "owner", "shared": ["area"], "weight": "weight"}, {"record_cost": "jobs", "rule": "recount"}],
)
def test_keys_of_a_file_are_counted_alike(spark: Any, options: dict[str, Any]) -> None:
    table = firms(300, seed=9)
    holes = pa.array([None if number % 7 == 0 else value.as_py() for number, value in enumerate(table["trade"])], pa.string())
    in_duck, in_spark = both(spark, table.set_column(1, "trade", holes))
    keys = sv.KeyVariables(fields={"area": None, "trade": None, "jobs": None}, threshold=3, order=2, **options)
    assert_same_keys(code_file(in_duck, keys), code_file(in_spark, keys))


TEXTS = ["", " 5", "5 ", "\u00a05\u2003", "5\n", "\t5", "+.5", "5.", "-1e3", "1E2", "1e400", "1_000", "\u0661\u0662", "\u0130"]
TEXTS += ["nan", "NULL", "'", "\\d", "\u00e9", "\u00df", "-0", "+", "e5"]


def answers(data: Any, expressions: list[str]) -> list[tuple[Any, ...]]:
    listed = ", ".join(f"{each} AS a{place}" for place, each in enumerate(expressions))
    with data.session() as session:
        found = session.query(f"SELECT c0, {listed} FROM records").to_pylist()
    rows = [tuple(int(value) if isinstance(value, Decimal) else value for value in row.values()) for row in found]
    return sorted(rows, key=repr)


def test_every_word_means_the_same(spark: Any) -> None:
    table = pa.table({"text": pa.array([*TEXTS, None], pa.string())})
    words = {
        "trimmed": "trimmed(c0)",
        "whole_match": "whole_match(c0, '[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?')",
        "digest": "digest_low(digest(coalesce(c0, 'none')))",
        "digest_low": "digest_low(digest(c0))",
        "digest_high": "digest_high(digest(c0))",
        "hex_number": "hex_number(substr(md5(c0), 1, 15))",
        "byte_length": "byte_length(c0)",
        "double_text": "double_text(length(c0) * CAST(1e7 AS DOUBLE) + CAST(0.1 AS DOUBLE))",
        "hex_text": "hex_text('c3bc27')",
        "lowered": "lowered(c0)",
        "uppered": "uppered(c0 || 'ß\u03c2')",
        "whole": f"whole({2**100}) * whole(-3) + whole(length(c0))",
        "rounded": f"rounded(whole({10**36}) + whole(length(c0)), whole(8)) + rounded(whole(-3 * length(c0)), whole(2))",
        "decimal_text": "decimal_text(whole(-7 * length(c0)), 2, ',')",
    }
    assert set(words) == set(WORDS)
    in_spark = engine_over_spark(spark.createDataFrame(table), origin="test")
    assert answers(engine_over_arrow(table, origin="test"), list(words.values())) == answers(in_spark, list(words.values()))


def test_values_of_every_type_have_the_same_text(spark: Any) -> None:
    doubles = [0.1, -0.0, 1.0, 1e16, 1e15, 123456789.125, 2.0**-44, 1e-5, 5e-324, 1.7976931348623157e308, float("nan"), float("-inf")]
    floats = [0.1, -0.0, 1, 1e16, 123456789, 16777216, 2**-44, 1e-5, 1e38, 3.4028234663852886e38, float("nan"), float("inf")]
    short = pa.array(np.array(floats, dtype=np.float32))
    size = len(doubles)
    table = pa.table(
        {
            "row": list(range(size)),
            "double": doubles,
            "float": short,
            "bool": [number % 2 == 0 for number in range(size)],
            "date": [datetime.date(1, 1, 1), *[datetime.date(2024, 2, 29)] * (size - 1)],
            "decimal": pa.array([Decimal("0.0000001"), *[Decimal("-12.5")] * (size - 1)], pa.decimal128(20, 7)),
        }
    )
    in_duck, in_spark = engine_over_arrow(table, origin="test"), engine_over_spark(spark.createDataFrame(table), origin="test")
    expressions = [[engine.text(name) for name in table.column_names] for engine in (in_duck, in_spark)]
    assert answers(in_duck, expressions[0]) == answers(in_spark, expressions[1])


def test_a_type_that_engines_write_differently_is_refused(spark: Any) -> None:
    data = sv.read_microdata(spark.createDataFrame([(datetime.datetime(2024, 1, 1, 12), 5)], ["moment", "sales"]))
    with pytest.raises(InputError, match="column 'moment' has a type that engines write differently"):
        tabulate(data, sv.TableSpec(dimensions={"moment": None}, measure="sales"))


def test_doubts_are_counted_and_no_value_is_told(spark: Any) -> None:
    frame = spark.createDataFrame(pa.table({"area": ["a", "b", "b"], "sales": ["12", "secret", "word"]}))
    with pytest.raises(InputError, match=r"2 values that are not numbers, the first in a row that has no number in Spark") as found:
        tabulate(sv.read_microdata(frame), sv.TableSpec(dimensions={"area": None}, measure="sales"))
    assert "secret" not in str(found.value)


def test_a_failing_query_is_an_engine_that_failed_without_its_words(spark: Any) -> None:
    frame = spark.createDataFrame(pa.table({"area": ["a"], "sales": ["secret"]}))
    with pytest.raises(EngineFailed, match="Spark failed") as found:
        tabulate(sv.read_microdata(broken(frame, "error")), sv.TableSpec(dimensions={"area": None}, measure="sales"))
    assert "secret" not in str(found.value)
    assert found.value.__cause__ is None


def test_nothing_is_left_in_the_users_session(spark: Any) -> None:
    before = {table.name for table in spark.catalog.listTables()}
    tabulate(both(spark, firms(20, seed=2))[1], sv.TableSpec(dimensions={"area": None}, measure="sales", holding="owner"))
    assert {table.name for table in spark.catalog.listTables()} == before


def test_answers_come_in_batches_of_at_most_so_many_rows(spark: Any) -> None:
    engine = engine_over_spark(spark.range(25).toDF("number"), origin="test")
    with engine.session() as session:
        found = list(session.batches(f"SELECT {column(engine, 'number')} AS n FROM records ORDER BY n", rows=10))
    assert max(batch.num_rows for batch in found) <= 10
    assert [value for batch in found for value in batch["n"].to_pylist()] == list(range(25))


def test_missing_words_conditions_and_derived_columns_are_the_same(spark: Any) -> None:
    table = firms(60, seed=4).select(["area", "trade", "sales", "exact", "floating", "jobs", "owner"])
    trades = pa.array(["NA " if number % 9 == 0 else value.as_py() for number, value in enumerate(table["trade"])])
    table = table.set_column(1, "trade", trades)
    wishes: dict[str, Any] = {
        "missing": {"*": ["NA"], "jobs": ["0"]},
        "derive": {
            "each": "round(sales / if_missing(jobs, 7), 2)",
            "net": "max(sales - exact * 0.25, 0)",
            "kind": "concat(upper(left(area, 1)), '-', if(floating > 50, 'large', 'small'))",
        },
        "where": "trade is not missing and (sales > 20 or area in ('a', 'b'))",
    }
    both_ways = [sv.read_microdata(frame, **wishes) for frame in (table, spark.createDataFrame(table).repartition(4))]
    assert both_ways[0].prepared == both_ways[1].prepared
    assert both_ways[0].prepared is not None
    assert 0 < both_ways[0].prepared.kept < both_ways[0].prepared.read
    spec = sv.TableSpec(dimensions={"kind": None, "trade": None}, measure="each", shadow="net", holding="owner")
    assert_same_table(*(tabulate(data, spec) for data in both_ways))


def test_codes_that_mean_missing_are_the_same(spark: Any) -> None:
    keys = sv.KeyVariables(
        fields={"area": None, "jobs": None, "trade": None}, threshold=3, order=2, missing_codes={"jobs": ["3"], "trade": ["z'"]}
    )
    in_duck, in_spark = both(spark, firms(200, seed=6))
    assert_same_keys(code_file(in_duck, keys), code_file(in_spark, keys))


def test_what_spark_does_not_do_is_refused(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame(pa.table({"area": ["a"], "sales": [1]}))
    with pytest.raises(InputError, match="Spark reads Parquet files here"):
        sv.read_microdata(tmp_path / "a.csv", engine="spark")
    with pytest.raises(InputError, match="Unknown engine"):
        sv.read_microdata(frame, engine="flink")  # type: ignore[arg-type]


def people(size: int) -> pa.Table:
    rng = np.random.default_rng(11)
    return firms(size, seed=11).append_column("age", pa.array([str(age) for age in 20 + rng.geometric(0.12, size)]))


SAFE_FILES: dict[str, tuple[int, str, dict[str, Any]]] = {
    "folder": (3_000, "safe", {"rule": "recount", "missing_codes": {"jobs": ["3"]}}),
    "households and weights": (600, "safe.sav", {"household": "owner", "shared": ["area"], "weight": "weight"}),
    "text": (300, "safe.csv", {}),
}


@pytest.mark.parametrize("name", SAFE_FILES)
def test_a_safe_file_is_the_same_up_to_the_order_of_its_rows(spark: Any, tmp_path: Path, name: str) -> None:
    size, ending, options = SAFE_FILES[name]
    table, rows = people(size), []
    keys = sv.KeyVariables(fields={"area": AREAS, "jobs": None, "age": None}, threshold=3, order=2, **options)
    for place, data in enumerate(both(spark, table)):
        plan = sv.plan_recoding(data, keys, limits=sv.Limits(seconds=60))
        release = sv.apply_plan(data, plan, tmp_path / f"{place}-{ending}")
        assert release.audit.passed
        assert sum(plan.suppression.blanks.values()) > 0
        rows.append(sorted(map(repr, release.to_arrow().to_pylist())))
    assert rows[0] == rows[1]


def broken(frame: Any, how: str) -> Any:
    """The frame with a column that fails when it is read: by an error, or with the death of the process that works it out."""
    from pyspark.sql import functions

    if how == "error":
        return frame.withColumn("sales", functions.raise_error(functions.col("sales")).cast("string"))

    def die(value: str) -> str:
        import os

        os._exit(1)

    return frame.withColumn("sales", functions.udf(die, "string")(functions.col("sales")))


@pytest.mark.parametrize(("how", "ending"), [("error", "safe.csv"), ("error", "safe"), ("death", "safe")])
def test_a_query_that_fails_leaves_no_file(spark: Any, tmp_path: Path, how: str, ending: str) -> None:
    keys = sv.KeyVariables(fields={"area": None, "jobs": None, "age": None}, threshold=3, order=2)
    frame = spark.createDataFrame(people(300))
    plan = sv.plan_recoding(sv.read_microdata(frame), keys)
    with pytest.raises(EngineFailed, match="Spark failed"):
        sv.apply_plan(sv.read_microdata(broken(frame, how)), plan, tmp_path / ending)
    assert list(tmp_path.iterdir()) == []
