"""Slow and plain: what a file of tau-ARGUS says, for comparison with what a reader made of it.

`said(path)` splits the text at line ends, separators and columns and knows nothing else; `read(path, reading)` brings the reader's
answer into the same form. A file that was read without an error was read correctly if both are equal.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from statveil.formats.argus.batch_commands import Batch
from statveil.formats.argus.cells import CellTable
from statveil.formats.argus.metadata import Metadata, VariableRole, read_metadata
from statveil.formats.argus.records import record_rows
from statveil.formats.system import LinearSystem

Said = list[tuple[Any, ...]]
LONGEST_EXACT = 9
"""Decimals up to which a number of a table is kept as it is; of one with more, fifteen digits are."""


def text_of(path: Path) -> str:
    content = path.read_bytes()
    for encoding in ("utf-8-sig", "cp1252", "latin-1"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise AssertionError("latin-1 reads everything")


def lines(path: Path) -> list[str]:
    found = [line.rstrip("\x1a") for line in re.split(r"\r*\n|\r", text_of(path))]
    return [line for line in found if line.strip()]


def fields(line: str, separator: str) -> list[str]:
    """Fields between separators; in quotation marks a separator is none, and two of them are one."""
    found, field, quoted = [], "", False
    at = 0
    while at < len(line):
        sign = line[at]
        if sign == '"' and quoted and line[at + 1 : at + 2] == '"':
            field, at = field + '"', at + 1
        elif sign == '"' and (quoted or not field.strip()):
            quoted, field = not quoted, field if quoted else ""
        elif sign == separator and not quoted:
            found.append(field)
            field = ""
        else:
            field += sign
        at += 1
    return [*found, field]


def number(text: str) -> Decimal | None:
    try:
        return Decimal(text.strip().replace(",", ".")) if text.strip() not in ("", "-") else None
    except InvalidOperation:
        return Decimal("NaN")


def said(path: Path) -> Said:
    return _SAID[path.suffix](path)


def read(path: Path, reading: Any) -> Said:
    return _READ[path.suffix](path, reading)


def _tree_said(path: Path) -> Said:
    found: Said = []
    above: list[str] = ["Total"]
    for line in lines(path):
        code = line.lstrip("@") or line[-1:]
        depth = len(line) - len(code)
        above = [*above[: depth + 1], code.rstrip()]
        found.append((code.rstrip(), above[depth]))
    return found


def _tree_read(_path: Path, tree: Any) -> Said:
    """An aggregate that is called like another is called by the code above it too; its label is what the file says."""
    return [(tree.labels.get(code, code), tree.labels.get(above, above)) for code, above in tree.parent.items()]


def _recoding_said(path: Path) -> Said:
    text = lines(path)
    if text and text[0].strip().upper() == "<TREERECODE>":
        return [(line.rstrip(),) for line in text[1:]]
    groups = [line.split(":", 1) for line in text if not line.lstrip().startswith("<")]
    return [(new.strip(), *(re.sub(r"\s*-\s*", "-", old.strip()) for old in olds.split(","))) for new, olds in groups]


def _recoding_read(_path: Path, recoding: Any) -> Said:
    def written(span: Any) -> str:
        return span.first if span.first == span.last and span.first else f"{span.first or ''}-{span.last or ''}"

    return [(code,) for code in recoding.folded] or [(new, *map(written, spans)) for new, spans in recoding.groups.items()]


def _apriori_said(path: Path) -> Said:
    text = lines(path)
    bare = re.sub(r'"[^"]*"', "", text[0]) if text else ""
    separator = max(",;\t", key=bare.count)
    return [tuple(field.strip() for field in fields(line, separator) if field.strip()) for line in text]


def _apriori_read(_path: Path, said_: Any) -> Said:
    found: Said = []
    for each in said_:
        words = fields(each.line.text, max(",;\t", key=re.sub(r'"[^"]*"', "", said_[0].line.text).count))
        word = words[len(each.codes)].strip()
        amounts = [amount for amount in words[len(each.codes) + 1 :] if amount.strip()]
        same = all(number(text) == amount or (not number(text) and amount == 1) for text, amount in zip(amounts, each.amounts, strict=True))
        known = {"c": "c", "w": "c"}.get(word.lower(), word.lower()) in (each.action.value, {"w": "c"}.get(each.action.value))
        found.append(
            (*(code.strip() for code in each.codes if code.strip()), word if known and same else "?", *(a.strip() for a in amounts))
        )
    return found


def _batch_said(path: Path) -> Said:
    bare = (line.replace("\t", " ").strip() for line in lines(path))
    return [(re.findall(r"^<(\w+)>", line)[0].upper(),) for line in bare if not line.startswith(("//", "\\\\"))]


def _batch_read(_path: Path, batch: Batch) -> Said:
    return [(re.findall(r"<(\w+)>", each.line.text)[0].upper(),) for each in batch.commands]


def _metadata(path: Path) -> Metadata:
    return read_metadata(path.with_suffix(".rda"))


def _table_said(path: Path) -> Said:
    metadata = _metadata(path)
    response = next(each for each in metadata.variables if each.role in (VariableRole.RESPONSE, VariableRole.FREQUENCY))
    found: Said = []
    for line in lines(path):
        row = dict(zip((each.name for each in metadata.variables), fields(line, metadata.separator), strict=False))
        codes = tuple(row[each.name].strip() or each.total.strip() for each in metadata.variables if each.recodable)
        found.append((*codes, _kept(number(row[response.name])) or None))  # a zero of nobody is an empty cell
    return found


def _kept(amount: Decimal | None) -> Decimal | None:
    """More decimals than a double holds are noise."""
    if not amount:
        return amount
    exponent = amount.normalize().as_tuple().exponent
    return amount.normalize(Context(prec=15)) if isinstance(exponent, int) and -exponent > LONGEST_EXACT else amount


def _table_read(_path: Path, cells: CellTable) -> Said:
    def value(row: int) -> Decimal:
        return Decimal(int(cells.value.units[row])).scaleb(-cells.value.decimals)

    codes = [tuple(code.strip() for code in cells.codes(row)) for row in range(cells.size)]
    return [(*codes[row], None if cells.value.missing[row] else value(row) or None) for row in range(cells.size)]


def _records_said(path: Path) -> Said:
    metadata = read_metadata(path.with_suffix(".rda"), table=False)
    found: Said = []
    for line in lines(path):
        if metadata.dialect == "fixed":
            row = [line[(each.start or 1) - 1 : (each.start or 1) - 1 + (each.width or 0)] for each in metadata.variables]
        else:
            row = fields(line, metadata.separator)[: len(metadata.variables)]
        found.append(tuple(_field(each, text) for each, text in zip(metadata.variables, row, strict=True)))
    return found


def _field(variable: Any, text: str) -> Any:
    if not variable.numeric:
        return text.rstrip()
    return None if text.strip() in ("", *variable.missing) else number(text)


def _records_read(path: Path, _reading: Any) -> Said:
    metadata = read_metadata(path.with_suffix(".rda"), table=False)
    rows = record_rows(path, metadata)
    return [tuple(_field(each, text) for each, text in zip(metadata.variables, row, strict=True)) for row in rows]


def _metadata_said(path: Path) -> Said:
    text = [line.replace("\t", " ").strip() for line in lines(path)]
    heads = [line for line in text if not line.startswith(("<", "//"))]
    return [(re.match(r'"([^"]*)"|([^ ]+)', line)[0].strip('"'),) for line in heads]  # type: ignore[index]


def _metadata_read(path: Path, _reading: Any) -> Said:
    return [(each.name,) for each in _metadata(path).variables]


def _code_value_said(path: Path) -> Said:
    rows = [fields(line, ",") for line in lines(path)]
    return [(*(code.rstrip() for code in row[:2]), row[2].strip() == "x" or number(row[2])) for row in rows]


def _code_value_read(_path: Path, reading: Any) -> Said:
    return [(*each.codes, each.withheld or each.value) for each in reading]


def _system_said(path: Path) -> Said:
    """A line ends at a line feed; a carriage return is a blank like others."""
    text = [line.split() for line in text_of(path).rstrip("\x1a").split("\n") if line.strip()]
    size = int(text[1][0])
    cells = [(int(row[0]), Decimal(row[1]), row[3]) for row in text[2 : 2 + size]]
    relations = [re.sub(r"[():]", " ", " ".join(row)).split() for row in text[3 + size :]]
    return [*cells, *(_relation(row) for row in relations[: int(text[2 + size][0])])]


def _relation(words: list[str]) -> tuple[Any, ...]:
    terms = sorted((int(cell), int(factor)) for cell, factor in zip(words[2::2], words[3::2], strict=True) if int(factor))
    return (Decimal(words[0]), *terms)


def _system_read(_path: Path, system: LinearSystem) -> Said:
    unit = Decimal(1).scaleb(-system.decimals)
    cells = [(cell, int(value) * unit, str(status)) for cell, (value, status) in enumerate(zip(system.value, system.status, strict=True))]
    matrix = system.relations.sorted_indices()
    rows = [slice(matrix.indptr[row], matrix.indptr[row + 1]) for row in range(system.rhs.size)]
    terms = [zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True) for part in rows]
    return [*cells, *((int(rhs) * unit, *row) for rhs, row in zip(system.rhs, terms, strict=True))]


_SAID = {
    ".hrc": _tree_said,
    ".cdl": lambda path: [(code.rstrip(), label.strip()) for code, _, label in (line.partition(",") for line in lines(path))],
    ".grc": _recoding_said,
    ".hst": _apriori_said,
    ".arb": _batch_said,
    ".tab": _table_said,
    ".asc": _records_said,
    ".rda": _metadata_said,
    ".txt": _code_value_said,
    ".jj": _system_said,
}
_READ = {
    ".hrc": _tree_read,
    ".cdl": lambda _path, labels: list(labels.items()),
    ".grc": _recoding_read,
    ".hst": _apriori_read,
    ".arb": _batch_read,
    ".tab": _table_read,
    ".asc": _records_read,
    ".rda": _metadata_read,
    ".txt": _code_value_read,
    ".jj": _system_read,
}
