"""The page on the API says what the description says: its examples as requests, its parameters in words."""

from __future__ import annotations

from typing import Any

from statveil.server.web.pages.api_words import ApiExample, examples, operations

ID = {"name": "id", "in": "path", "required": True, "description": "The `id`.", "schema": {"examples": ["a b"]}}
FILTER = {"name": "filter", "in": "query", "schema": {"examples": [["region:N", "trade:food"]]}}
ASKED: dict[str, Any] = {"parameters": [ID, FILTER], "responses": {"200": {"description": "A table."}}}


def test_an_example_is_a_request_with_every_place_filled() -> None:
    (found,) = examples("get", "/v1/datasets/{id}/table", ASKED)
    assert found == ApiExample(method="GET", address="/v1/datasets/a%20b/table?filter=region:N&filter=trade:food")


def test_a_body_is_shown_with_its_words() -> None:
    wish = {"content": {"application/json": {"examples": {"one": {"summary": "By region", "value": {"measure": "sales"}}}}}}
    (found,) = examples("post", "/v1/tables", {"requestBody": wish})
    assert (found.words, found.body) == ("By region", '{"measure": "sales"}')


def test_a_place_without_an_example_gives_no_request() -> None:
    assert list(examples("get", "/v1/jobs/{name}", {"parameters": []})) == []


def test_an_operation_tells_parameters_and_answers() -> None:
    (told,) = operations({"paths": {"/v1/datasets/{id}/table": {"get": ASKED}}})
    assert told["parameters"][0] == {"name": "id", "place": "path", "required": True, "words": "The id."}
    assert told["answers"] == [("200", "A table.", "")]
