"""Where queries on records run: the only folder that names an engine, DuckDB or Spark."""

from __future__ import annotations

from statveil.data.engines.duck import DuckEngine, counting_session, engine_over_arrow, engine_over_csv, engine_over_parquet
from statveil.data.engines.protocol import Engine, RecordView, Session, column, scalar_row
from statveil.data.engines.settings import DuckDB
from statveil.data.engines.spark import engine_over_spark, is_spark_frame, spark_parquet

__all__ = [
    "DuckDB",
    "DuckEngine",
    "Engine",
    "RecordView",
    "Session",
    "column",
    "counting_session",
    "engine_over_arrow",
    "engine_over_csv",
    "engine_over_parquet",
    "engine_over_spark",
    "is_spark_frame",
    "scalar_row",
    "spark_parquet",
]
