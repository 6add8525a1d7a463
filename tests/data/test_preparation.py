"""Records as they come: missing words, conditions, derived columns."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from statveil.core.errors import InputError, UnknownColumn
from statveil.data.microdata import Microdata
from statveil.data.preparation import doubtful_words, usual_words
from statveil.data.queries.tabulation import read_all
from statveil.data.readers import read_microdata
from statveil.tables.spec import TableSpec
from statveil.tables.tabulate import tabulate

ROWS = "id,country,income\n1,NA,10\n2,DE,NA\n3,DE, NA \n4,FR,-9\n5,FR,2.5\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


def column_of(data: Microdata, name: str) -> list[str | None]:
    with data.engine.session() as session:
        return list(read_all(session, data.engine)[name].to_pylist())


def test_missing_words_by_column_and_elsewhere(file: Path) -> None:
    everywhere = read_microdata(file, missing=["NA"])
    assert column_of(everywhere, "country") == [None, "DE", "DE", "FR", "FR"]
    namibia = read_microdata(file, missing={"*": ["NA"], "country": [], "income": ["NA", "-9"]})
    assert column_of(namibia, "country") == ["NA", "DE", "DE", "FR", "FR"]
    assert column_of(namibia, "income") == ["10", None, None, None, "2.5"]
    assert namibia.prepared is not None
    assert namibia.prepared.missing == {"id": 0, "income": 3}
    assert namibia.prepared.in_words() == ["income: 3 values were missing words"]


def test_the_report_says_what_became_of_the_records(file: Path) -> None:
    data = read_microdata(
        file,
        missing=["NA", "-9"],
        where="income is not missing",
        derive={"twice": "income * 2.0", "rich": "income > 5", "land": "lower(country)"},
    )
    assert data.columns == ("id", "country", "income", "twice", "rich", "land")
    assert column_of(data, "twice") == ["20.00", "5.00"]
    assert data.prepared is not None
    assert data.prepared.in_words() == [
        "country: 1 value was a missing word",
        "income: 3 values were missing words",
        "income: read as a number",
        "twice: derived (number, 2 decimals), 0 missing",
        "rich: derived (truth), 0 missing",
        "land: derived (text), 1 missing",
        "2 of 5 records kept",
    ]


def test_words_that_occur_nowhere_are_told(file: Path) -> None:
    data = read_microdata(file, missing=["none"])
    assert data.prepared is not None
    assert data.prepared.in_words() == ["No value is one of the missing words."]


def test_a_condition_on_a_missing_value_is_refused_and_the_remedies_work(file: Path) -> None:
    with pytest.raises(InputError, match="neither true nor false for 2 records with missing values, the first in line 3") as told:
        read_microdata(file, missing=["NA"], where="income > 0 and id > 1")
    assert "`and income is not missing`" in str(told.value)
    out = read_microdata(file, missing=["NA"], where="income > 0 and id > 1 and income is not missing")
    within = read_microdata(file, missing=["NA"], where="income > 0 and id > 1 or income is missing")
    assert (column_of(out, "id"), column_of(within, "id")) == (["5"], ["2", "3", "5"])


def test_derived_columns_may_use_those_before_them(file: Path) -> None:
    data = read_microdata(file, missing=["NA"], derive={"a": "if_missing(income, 0) + 1", "b": "a * 2", "high": "b > 10"})
    assert column_of(data, "b") == ["22.0", "2.0", "2.0", "-16.0", "7.0"]
    assert column_of(data, "high") == ["true", "false", "false", "false", "false"]


def test_places_in_messages_are_those_of_the_file(file: Path) -> None:
    data = read_microdata(file, where="country = 'FR'", missing={"income": ["-9"]})
    spec = TableSpec(dimensions={"country": None}, measure="income")
    with pytest.raises(InputError, match="one missing value, in line 5"):
        tabulate(data, spec)


def test_a_missing_word_in_a_measure_is_refused_with_the_remedy(file: Path) -> None:
    with pytest.raises(InputError, match="2 values that are not numbers, the first in line 3") as told:
        tabulate(read_microdata(file), TableSpec(dimensions={"country": None}, measure="income"))
    assert 'missing = { income = ["NA"] }' in str(told.value)


def test_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "commas.csv"
    path.write_text("area;sales\na;1,50\nb;2,25\n", encoding="utf-8")
    for decimal in (None, ","):
        data = read_microdata(path, decimal=decimal, derive={"twice": "2 * sales"}, where="sales > 1.6")
        table = tabulate(data, TableSpec(dimensions={"area": None}, measure="twice"))
        assert (table.value.tolist()[0], table.scale) == (45, 1)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"missing": {"nobody": ["NA"]}}, "no column 'nobody'"),
        ({"missing": "NA"}, "needs a list of texts"),
        ({"missing": [1]}, "needs a list of texts"),
        ({"derive": {"id": "1"}}, "there is a column 'id' already"),
        ({"derive": {"": "1"}}, "needs a name"),
        ({"where": ""}, "not empty"),
        ({"derive": {"x": "y", "y": "1"}}, "derive.x: there is no column 'y'"),
    ],
)
def test_refused(file: Path, asked: dict[str, object], words: str) -> None:
    with pytest.raises((InputError, UnknownColumn)) as told:
        read_microdata(file, **asked)  # type: ignore[arg-type]
    assert words in str(told.value)


def test_numbers_too_long_to_be_exact_and_two_marks_are_refused() -> None:
    with pytest.raises(InputError, match="too many digits"):
        read_microdata(pa.table({"a": ["0.1234567890123"]}), where="a > 0")
    with pytest.raises(InputError, match="too many digits"):
        read_microdata(pa.table({"a": ["123456789012345678901"]}), where="a > 0")


def test_two_decimal_marks_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    path.write_text("a;b\n1,5;x\n1.5;y\n", encoding="utf-8")
    with pytest.raises(InputError, match="commas and points"):
        read_microdata(path, where="a > 0")


def test_usual_words_are_found(file: Path) -> None:
    assert usual_words(read_microdata(file)) == {"country": ["NA"], "income": ["NA"]}


def test_words_among_numbers_and_codes_below_zero_are_doubtful() -> None:
    """Amounts with two kinds of words, one of them unusual; codes with -9; losses, where -9 is an amount; and codes that are words."""
    amounts = [*(f"{each},5" for each in range(20)), "NA", "k.A."]
    columns = {
        "amount": amounts,
        "job": [*["vet", "cook"] * 10, "-9", "-9"],
        "loss": [*(str(-each) for each in range(20)), "-9", "-9"],
        "name": [f"{each} Street" for each in range(22)],
    }
    assert doubtful_words(read_microdata(pa.table(columns))) == {"amount": ["NA", "k.A."], "job": ["-9"]}


def test_many_different_words_among_numbers_are_texts_and_not_told() -> None:
    values = [*(str(each) for each in range(30)), *(f"house {each}" for each in range(10))]
    assert doubtful_words(read_microdata(pa.table({"number": values}))) == {}


def test_what_was_prepared_is_shown_in_lines(file: Path) -> None:
    data = read_microdata(file, missing=["NA"], where="income is not missing")
    assert data.prepared is not None
    assert repr(data.prepared).splitlines()[0] == f"Preparation (confidential): {data.prepared.kept} of {data.prepared.read} records kept"
    assert "income: 2 values were missing words" in repr(data.prepared)
    assert "<li>income: 2 values were missing words</li>" in data._repr_html_()


def test_quotients_within_quotients_are_exact_and_end_somewhere() -> None:
    """100 / 3 is 33.33, a third of it 11.11; -37.625 lies halfway and goes to the even -37.62."""
    frame = pa.table({"a": [100, -301], "b": [3, 8]})
    twice = read_microdata(frame, derive={"once": "round(a / b, 2)", "twice": "round(round(a / b, 2) / b, 2)"})
    assert column_of(twice, "once") == ["33.33", "-37.62"]
    assert column_of(twice, "twice") == ["11.11", "-4.70"]
    with pytest.raises(InputError, match="too many expressions within each other"):
        read_microdata(frame, derive={"thrice": "round(round(round(a / b, 2) / b, 2) / b, 2)"})
