"""Search over datasets."""

from __future__ import annotations

from dataclasses import replace

from statveil.server.web.pages.search import MOST_PLACES, search
from tests.server.fake import dataset

FIRMS, FARMS = dataset("firms"), replace(dataset("farms"), saved=(("Milk by size", "measure=turnover&use=size:rows"),))


def test_without_words_all_are_found():
    assert [hit.dataset.id for hit in search([FIRMS, FARMS], "  ")] == ["firms", "farms"]


def test_every_word_must_stand_somewhere():
    assert [hit.dataset.id for hit in search([FIRMS, FARMS], "NIEUW farms")] == ["farms"]
    assert search([FIRMS, FARMS], "nieuw moon") == []


def test_a_dataset_with_the_words_in_its_name_comes_first():
    assert [hit.dataset.id for hit in search([FIRMS, replace(FARMS, label="Size of farms")], "size")] == ["farms", "firms"]


def test_a_code_leads_to_a_table_that_shows_it():
    (hit,) = search([FIRMS], "balinge")
    assert [place.words for place in hit.places] == ["Region: Nieuw-Balinge (N2)"]
    assert hit.places[0].address == "asked=true&measure=turnover&use=region:rows&only=region:N2&totals=true"


def test_a_saved_table_is_found_by_its_name():
    (hit,) = search([FIRMS, FARMS], "milk")
    assert hit.places[0].address == "asked=true&measure=turnover&use=size:rows"


def test_of_many_places_some_are_named():
    (hit,) = search([FIRMS], "i")
    assert (len(hit.places), hit.more > 0) == (MOST_PLACES, True)
