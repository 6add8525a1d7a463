"""Every example of the API's description works on the demonstration, and every answer is what its schema says."""

from __future__ import annotations

import httpx
import pytest
from pydantic import BaseModel

from statveil.core.api_keys import Role
from statveil.server.web import schemas
from statveil.server.web.pages.api_words import ApiExample, examples
from tests.server.live import Served

pytestmark = pytest.mark.slow


def model_of(answers: dict, status: int, media_type: str) -> type[BaseModel] | None:
    """What the description says of such an answer; None for one that is not JSON."""
    content = answers[str(status)]["content"]
    assert media_type in content, (status, media_type)
    reference = content[media_type]["schema"].get("$ref")
    return None if reference is None else getattr(schemas, reference.rpartition("/")[2])


def send(client: httpx.Client, example: ApiExample) -> httpx.Response:
    return client.request(example.method, example.address, content=example.body or None, headers={"Content-Type": "application/json"})


def test_every_example_works_on_the_demonstration(server: Served):
    with server.client(Role.OFFICER) as client:
        told, sent = client.get("/openapi.json").json(), []
        for path, methods in told["paths"].items():
            for method, operation in methods.items():
                for example in examples(method, path, operation):
                    answer = send(client, example)
                    assert answer.status_code == 200, (example, answer.text)
                    model = model_of(operation["responses"], 200, answer.headers["content-type"].split(";")[0])
                    if model is not None:
                        model.model_validate(answer.json())
                    sent.append((method, path))
    tables = "/v1/datasets/{dataset}/tables"
    assert sent.count(("post", tables)) == len(schemas.WISHES) > 3
    assert {("get", "/v1/datasets"), ("get", "/v1/datasets/{dataset}"), ("get", tables), ("get", "/v1/audit-log")} <= set(sent)


def test_answers_without_an_example_are_what_their_schemas_say(server: Served):
    """Names of tables depend on the key: they come from an answer."""
    with server.client() as client:
        told = client.get("/openapi.json").json()["paths"]
        fine = {"dimensions": [{"id": "region"}, {"id": "industry"}], "measure": "enterprises"}
        given = client.post("/v1/datasets/enterprises/tables", json=fine)
        assert set(given.json()["status"].values()) == {"<3"}, "some counts of this table are withheld"
        name = given.headers["etag"].strip('"').split("-")[0]
        for path, asked, status in (
            ("/v1/tables/{table_hash}", f"/v1/tables/{name}", 200),
            ("/v1/jobs/{job}", f"/v1/jobs/{name}", 200),
            ("/v1/tables/{table_hash}", f"/v1/tables/{'0' * 64}", 404),
            ("/v1/datasets/{dataset}", "/v1/datasets/none", 404),
        ):
            answer = client.get(asked)
            assert answer.status_code == status
            model = model_of(told[path]["get"]["responses"], status, answer.headers["content-type"])
            assert model is not None
            model.model_validate(answer.json())


def test_the_description_tells_accuracy_by_class(server: Served):
    with server.client() as client:
        told = schemas.DatasetAnswer.model_validate(client.get("/v1/datasets/enterprises").json())
    turnover, _, enterprises = told.measures
    assert {each.dimensions for each in turnover.accuracy} <= {1, 2, 3}
    assert turnover.accuracy
    assert (enterprises.counts, enterprises.smallest) == (True, 3)
    assert [each.label for each in told.saved] == ["Turnover by industry", "Enterprises by region and size"]
