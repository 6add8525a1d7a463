"""No label can become a formula, and every label comes back as it was."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statveil.publish.formats.files import csv_field, file_word, guard, identifier
from statveil.publish.read_back.csv_file import unguarded

texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("=+-@\t\r' \n\",")).map(lambda text: text.replace("\x00", ""))


@pytest.mark.parametrize("label", ["=1+1", "+31", "-5", "@SUM(A1)", "\tx", "\rx", "   =1", " \t@x", "＝1"])
def test_a_label_that_starts_a_formula_gets_an_apostrophe(label: str) -> None:
    assert guard(label) == "'" + label


@pytest.mark.parametrize("label", ["Urk", "a=b", "'t Zandt", "12", ""])
def test_other_labels_are_left_alone(label: str) -> None:
    assert guard(label) == label


@given(texts)
def test_guarding_is_undone_whatever_the_label(label: str) -> None:
    assert unguarded(guard(label)) == label


@given(texts)
def test_a_field_is_one_field_for_any_csv_reader(label: str) -> None:
    [[first, second]] = csv.reader(io.StringIO(csv_field(label) + ",x", newline=""), strict=True)
    assert (unguarded(first), second) == (label, "x")


def test_names_of_files_and_identifiers_are_harmless() -> None:
    assert file_word("../turn over/é") == "turn_over_é"
    assert file_word("///") == "table"
    assert identifier("turn-over 2") == "TURN_OVER_2"
    assert identifier("2") == "X_2"
