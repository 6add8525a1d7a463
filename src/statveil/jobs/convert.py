"""`convert`: a file in another format that holds the same thing: records, a tree, a list of decisions, a table, a linear system.

What the target cannot hold is refused by name, unless the user says that it may be dropped.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from statveil.core.arrays import FloatArray
from statveil.core.atomic import check_targets, written_together
from statveil.core.errors import InputError
from statveil.data.hierarchy import DEFAULT_TOTAL, Hierarchy
from statveil.data.readers import EXCEL_ENDINGS, PARQUET_ENDINGS, STATS_ENDINGS, read_sheet, read_stats
from statveil.data.textfiles import records_of, require_file, settle_encoding, sniff_delimiter
from statveil.formats.argus.apriori import Action, Apriori, read_apriori, write_apriori
from statveil.formats.argus.cells import CellTable, ExactColumn, cell_of_rows, table_of
from statveil.formats.argus.lines import read_lines
from statveil.formats.argus.metadata import read_metadata
from statveil.formats.argus.outputs import CodeValue, Style, count_codes, has_value, read_code_value, write_code_value, write_sbs
from statveil.formats.argus.records import record_rows
from statveil.formats.argus.sbs import read_sbs
from statveil.formats.argus.tab import read_cells, write_cells
from statveil.formats.argus.trees import read_labels, read_tree, write_labels, write_tree
from statveil.formats.system import read_system, write_system
from statveil.jobs.batch.tables import said_by_statuses
from statveil.protect.build import build_problem
from statveil.protect.options import Options
from statveil.protect.system import write_jj
from statveil.publish.formats import export
from statveil.publish.formats.json_stat import read_json_stat
from statveil.publish.formats.sdmx import SdmxCsvVersion
from statveil.publish.release import Release
from statveil.risk.assess import assess
from statveil.risk.rules.manual import NUMBERS, WORDS, Manual, ManualCell
from statveil.risk.rules.manual import read_cells as read_manual
from statveil.tables.table import Table


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """What a file does not say about itself.

    metadata: the .rda file of a .asc or .tab file, by default the one beside it. dimensions: names for the codes of a .hst file.
    total: code of a tree's total. recompute: take a table's inner cells and add the totals up. drop: leave out what the target cannot hold.
    sdmx_csv: the version of SDMX-CSV to write.

    >>> import tempfile
    >>> tree = Path(tempfile.mkdtemp()) / "region.hrc"
    >>> _ = tree.write_text("north\\nsouth\\n")
    >>> convert(tree, tree.with_suffix(".csv"), Conversion(total="all"))[0].read_text().split()[1]
    'all,,'
    """

    metadata: Path | None = None
    dimensions: tuple[str, ...] = ()
    total: str | None = None
    recompute: bool = False
    drop: bool = False
    sdmx_csv: SdmxCsvVersion = "2.0"


def convert(source: str | Path, target: str | Path, how: Conversion | None = None) -> list[Path]:
    """Write `source` anew as `target`, by the endings of the two names; the files written.

    how: what the source does not say about itself, and what may be dropped.

    >>> import tempfile
    >>> tree = Path(tempfile.mkdtemp()) / "region.hrc"
    >>> _ = tree.write_text("north\\n@A\\n@B\\nsouth\\n")
    >>> convert(tree, tree.with_suffix(".csv"))[0].read_text().split()
    ['code,parent,label', 'Total,,', 'north,Total,', 'A,north,', 'B,north,', 'south,Total,']
    """
    source, target, how = require_file(Path(source)), Path(target), how or Conversion()
    step = _step(source, target)
    check_targets([target], sources=[source])
    if step is _table_to_table:  # it writes several files
        return _table_to_table(source, target, how)
    with written_together([target]) as [place]:
        step(source, place, how)
    return [target]


Step = Callable[[Path, Path, Conversion], object]


def _step(source: Path, target: Path) -> Step:
    one, other = source.suffix.lower(), target.suffix.lower()
    for sources, targets, step in _STEPS:
        if one in sources and other in targets:
            return step
    known = [targets for sources, targets, _ in _STEPS if one in sources]
    if not known:
        endings = sorted({ending for sources, _, _ in _STEPS for ending in sources})
        raise InputError(f"A file ending in {one or 'nothing'} cannot be converted.", hint=f"Known: {', '.join(endings)}.")
    endings = sorted({ending for targets in known for ending in targets})
    raise InputError(
        f"A {one} file cannot become a {other or 'nameless'} file: they do not hold the same thing.",
        hint=f"It can become: {', '.join(endings)}.",
    )


def _refuse_lost(target: Path, lost: Sequence[str], how: Conversion) -> None:
    if lost and not how.drop:
        raise InputError(f"A {target.suffix} file cannot hold {', '.join(lost)}.", hint="--drop leaves it out.")


def _records(source: Path, target: Path, how: Conversion) -> None:
    """Text columns as they are; numbers of packages as they print."""
    names, rows = _record_source(source, how)
    if target.suffix.lower() in PARQUET_ENDINGS:
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        content = {name: pa.array([field or None for field in column], pa.string()) for name, column in zip(names, columns, strict=True)}
        pq.write_table(pa.table(content), target, compression="zstd")
        return
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


def _record_source(source: Path, how: Conversion) -> tuple[list[str], Iterator[list[str]]]:
    ending = source.suffix.lower()
    if ending == ".asc":
        metadata = read_metadata(how.metadata or source.with_suffix(".rda"), table=False)
        return [variable.name for variable in metadata.variables], record_rows(source, metadata)
    if ending == ".csv":
        encoding = settle_encoding(source)
        lines = records_of(source, encoding, sniff_delimiter(source, encoding))
        return next(lines)[1], (fields for _, fields in lines)
    table = read_stats(source) if ending in STATS_ENDINGS else read_sheet(source) if ending in EXCEL_ENDINGS else pq.read_table(source)
    texts = [["" if value is None else str(value) for value in column.to_pylist()] for column in table.columns]
    return table.column_names, (list(row) for row in zip(*texts, strict=True))


def _tree_to_csv(source: Path, target: Path, how: Conversion) -> None:
    tree = read_tree(source, total=how.total or DEFAULT_TOTAL)
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["code", "parent", "label"])
        writer.writerow([tree.total, "", tree.labels.get(tree.total, "")])
        writer.writerows([code, tree.parent[code], tree.labels.get(code, "")] for code in tree.codes[1:])


def _csv_to_tree(source: Path, target: Path, how: Conversion) -> None:
    tree = Hierarchy.from_csv(source, total=how.total)
    lost = [f"the labels of {len(tree.labels)} codes"] if tree.labels else []
    lost += [f"the code of the total, {tree.total!r}"] if tree.total != DEFAULT_TOTAL else []
    _refuse_lost(target, lost, how)
    write_tree(tree, target)


def _labels_to_csv(source: Path, target: Path, _how: Conversion) -> None:
    with target.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("code", "label"), *read_labels(source).items()])


def _csv_to_labels(source: Path, target: Path, how: Conversion) -> None:
    """Of a list of codes, or of a tree, what it says about labels."""
    names, rows = _record_source(source, how)
    if not {"code", "label"} <= set(names):
        raise InputError(f"{source.name} has no columns code and label.", hint="A code list has both.")
    code, label = names.index("code"), names.index("label")
    write_labels({row[code]: row[label] for row in rows if row[label]}, target)


_STATUS = {Action.SAFE: "safe", Action.UNSAFE: "sensitive", Action.PROTECTED: "frozen", Action.LEVELS: "sensitive"}


def _apriori_to_csv(source: Path, target: Path, how: Conversion) -> None:
    said = read_apriori(source, dimensions=len(how.dimensions) or None)
    secondary = [each for each in said if each.action in (Action.SECONDARY, Action.SECONDARY_MANUAL)]
    _refuse_lost(target, ["secondary suppressions (m, ml)"] if secondary else [], how)
    count = len(said[0].codes) if said else len(how.dimensions)
    names = how.dimensions or tuple(f"dimension_{place}" for place in range(1, count + 1))
    if len(names) != count:
        raise InputError(f"{source.name} has {count} codes in a line, but {len(names)} dimensions are named.")
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*names, "status", "lower", "upper", "cost"])
        writer.writerows([*each.codes, *_manual_fields(each)] for each in said if each not in secondary)


def _manual_fields(said: Apriori) -> list[str]:
    amounts = [f"{amount:f}" for amount in said.amounts]
    if said.action is Action.COST:
        return ["", "", "", *amounts]
    return [_STATUS[said.action], *(amounts or ["", ""]), ""]


def _csv_to_apriori(source: Path, target: Path, how: Conversion) -> None:
    cells = read_manual(source)
    names = how.dimensions or _dimension_names(source)
    lost = [name for name in ("level", "minimum", "maximum", "view") if any(getattr(cell, name) is not None for cell in cells)]
    _refuse_lost(target, lost, how)
    write_apriori([said for cell in cells for said in _apriori_of(cell, names)], target)


def _dimension_names(source: Path) -> tuple[str, ...]:
    encoding = settle_encoding(source)
    _, header = next(records_of(source, encoding, sniff_delimiter(source, encoding)))
    return tuple(name for name in header if name not in (*WORDS, *NUMBERS))


def _apriori_of(cell: ManualCell, names: Sequence[str]) -> Iterator[Apriori]:
    codes = tuple(cell.cell.get(name, "") for name in names)
    actions = {"safe": Action.SAFE, "sensitive": Action.UNSAFE, "frozen": Action.PROTECTED}
    if cell.status:
        yield Apriori(codes=codes, action=actions[cell.status])
    if cell.lower is not None and cell.upper is not None:
        yield Apriori(codes=codes, action=Action.LEVELS, amounts=(Decimal(str(cell.lower)), Decimal(str(cell.upper))))
    if cell.cost is not None:
        yield Apriori(codes=codes, action=Action.COST, amounts=(Decimal(str(cell.cost)),))


def _cells(source: Path, how: Conversion) -> CellTable:
    return read_sbs(source) if source.suffix.lower() == ".sbs" else read_cells(source, how.metadata)


def _code_value_to_csv(source: Path, target: Path, how: Conversion) -> None:
    """A code-value file with a name for each column; `x` for a withheld value becomes a status of its own."""
    first = next(iter(read_lines(source)), None)
    header = first is not None and not has_value(first)
    said = read_code_value(source, dimensions=len(how.dimensions) or count_codes(source, header=header), header=header)
    names = how.dimensions or tuple(f"dimension_{place}" for place in range(1, len(said[0].codes) + 1 if said else 1))
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*names, "value", "original", "status"])
        writer.writerows([*each.codes, *_code_value_fields(each)] for each in said)


def _code_value_fields(said: CodeValue) -> list[str]:
    amounts = ["" if amount is None else f"{amount:f}" for amount in (said.value, said.original)]
    return [*amounts, str(int(said.status)) if said.status is not None else "x" if said.withheld else ""]


def _table_to_table(source: Path, target: Path, how: Conversion) -> list[Path]:
    """A .tab file with its .rda and .hrc files, tidied."""
    companions = [target.with_suffix(".rda")]
    read = [source] if source.suffix.lower() == ".sbs" else [source, how.metadata or source.with_suffix(".rda")]
    check_targets([target, *companions], sources=read)
    return write_cells(_cells(source, how), target)


def _parts(cells: CellTable) -> dict[str, bool]:
    return {
        "frequencies": cells.frequency is not None,
        "shadow values": cells.shadow is not None,
        "costs": cells.cost is not None,
        "largest contributions": bool(cells.top),
        "protection levels": cells.lower is not None or cells.upper is not None,
        "trees": any(max(dimension.trees[0].depth.values()) > 1 for dimension in cells.dimensions),
    }


def _lost(cells: CellTable, *kept: str) -> list[str]:
    return [name for name, there in _parts(cells).items() if there and name not in kept]


def _table_to_code_value(source: Path, target: Path, how: Conversion) -> None:
    cells = _cells(source, how)
    _refuse_lost(target, _lost(cells), how)
    write_code_value(cells, target, style=Style(statuses=True, header=True))


def _table_to_sbs(source: Path, target: Path, how: Conversion) -> None:
    cells = _cells(source, how)
    _refuse_lost(target, _lost(cells, "frequencies", "trees"), how)
    write_sbs(cells, target, levels=True)


def _table_to_system(source: Path, target: Path, how: Conversion) -> None:
    """Unsafe cells without levels get 20% of their value; a unit's change costs what the file says, else the inverse of the value."""
    cells = _cells(source, how)
    _refuse_lost(target, ["codes", *_lost(cells, "protection levels", "trees", "costs")], how)
    table = table_of(cells, recompute=how.recompute)
    sensitivity = assess(table, [Manual(said_by_statuses(table, cells))])
    if cells.cost is not None:
        sensitivity = replace(sensitivity, weight=_costs(table, cells, cells.cost))
    write_jj(build_problem(table, sensitivity, Options()), target, decimals=table.decimals)


def _costs(table: Table, cells: CellTable, cost: ExactColumn) -> FloatArray:
    """The file's cost of each cell; nothing where it gives none, or zero."""
    found, cell = np.full(table.size, np.nan), cell_of_rows(table, cells)
    rows = np.flatnonzero((cell >= 0) & ~cost.missing & (cost.units > 0))
    found[cell[rows]] = cost.units[rows] / 10.0**cost.decimals
    return found


def _published(source: Path, target: Path, how: Conversion) -> None:
    """A published table in another public format."""
    release = cast("Release", read_json_stat(source))
    if target.name.lower().endswith(".sdmx.csv"):
        export.write_sdmx_csv(release, target, version=how.sdmx_csv)
    else:
        _PUBLIC[target.suffix.lower()](release, target)


_PUBLIC: Mapping[str, Callable[[Release, Path], object]] = {
    ".csv": export.write_csv,
    ".parquet": export.write_parquet,
    ".xlsx": export.write_excel,
    ".json": export.write_json_stat,
    ".xml": export.write_sdmx_ml,
    ".px": export.write_pc_axis,
}


def _system_to_system(source: Path, target: Path, _how: Conversion) -> None:
    write_system(read_system(source, decimals="all", non_additive=True), target)


_STEPS: Sequence[tuple[frozenset[str], frozenset[str], Step]] = (
    (frozenset({".hrc"}), frozenset({".csv"}), _tree_to_csv),
    (frozenset({".csv"}), frozenset({".hrc"}), _csv_to_tree),
    (frozenset({".cdl"}), frozenset({".csv"}), _labels_to_csv),
    (frozenset({".csv"}), frozenset({".cdl"}), _csv_to_labels),
    (frozenset({".hst"}), frozenset({".csv"}), _apriori_to_csv),
    (frozenset({".csv"}), frozenset({".hst"}), _csv_to_apriori),
    (frozenset({".tab"}), frozenset({".tab"}), _table_to_table),
    (frozenset({".sbs"}), frozenset({".tab"}), _table_to_table),
    (frozenset({".txt"}), frozenset({".csv"}), _code_value_to_csv),
    (frozenset({".tab", ".sbs"}), frozenset({".txt"}), _table_to_code_value),
    (frozenset({".tab"}), frozenset({".sbs"}), _table_to_sbs),
    (frozenset({".tab", ".sbs"}), frozenset({".jj"}), _table_to_system),
    (frozenset({".json"}), frozenset(_PUBLIC), _published),
    (frozenset({".jj", ".npz"}), frozenset({".jj", ".npz"}), _system_to_system),
    (frozenset({".asc", ".csv", *PARQUET_ENDINGS, *STATS_ENDINGS, *EXCEL_ENDINGS}), frozenset({".csv", *PARQUET_ENDINGS}), _records),
)
