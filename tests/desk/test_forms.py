"""Words and numbers of a form, as a person types them."""

from __future__ import annotations

import pytest

from statveil.core.errors import InputError
from statveil.desk.forms import number, word


def test_a_word_is_the_first_of_its_name_without_blanks() -> None:
    form = {"name": [" turnover ", "other"], "empty": [""]}
    assert (word(form, "name"), word(form, "empty"), word(form, "absent")) == ("turnover", "", "")


@pytest.mark.parametrize(("text", "found"), [("10", 10), ("-3", -3), ("2,5", 2.5), ("2.5", 2.5), ("1e3", 1000.0)])
def test_numbers_are_kept_as_they_are_written(text: str, found: float) -> None:
    assert (number(text, "p"), type(number(text, "p"))) == (found, type(found))


@pytest.mark.parametrize("text", ["", "ten", "1 000", "²"])
def test_what_is_no_number_is_refused_by_the_name_of_its_field(text: str) -> None:
    with pytest.raises(InputError, match=r"^p must be a number"):
        number(text, "p")
