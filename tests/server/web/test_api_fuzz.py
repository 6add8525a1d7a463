"""F08: thousands of requests that break the description of the API, none of which breaks the server.

Ordinarily some two hundred; STATVEIL_FUZZ asks for as many in all, STATVEIL_FUZZ_SEED for others. benchmarks/RESULTS.md tells of 5,000.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection

from statveil.core.api_keys import Role
from tests.server.live import Served

pytestmark = pytest.mark.slow

CASES = int(os.environ.get("STATVEIL_FUZZ", "210"))
SEED = int(os.environ.get("STATVEIL_FUZZ_SEED", "1"))
OPERATIONS = 7


def test_requests_that_break_the_description_never_break_the_server(server: Served):
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    # our key is put back where the tool took it out, and a fault that vanishes on the way cannot be refused: that check would misjudge
    headers, seen = server.headers[Role.OFFICER], Counter[int]()

    def attack(operation: schemathesis.APIOperation, cases: int) -> None:  # type: ignore[name-defined]
        @seed(SEED)
        @given(case=operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
        @settings(
            max_examples=cases,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def ask(case: schemathesis.Case) -> None:
            answer = case.call(headers=headers)
            seen[answer.status_code] += 1
            assert answer.status_code < 500, answer.text
            assert "Traceback" not in answer.text
            if answer.status_code >= 400:
                assert answer.headers["content-type"] == ["application/problem+json"]
            case.validate_response(answer, headers=headers, excluded_checks=[negative_data_rejection])

        ask()

    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == OPERATIONS
    for operation in operations:
        attack(operation, -(-CASES // OPERATIONS))
    assert sum(seen.values()) >= 0.9 * CASES
    assert "Traceback" not in (server.folder / "errors.txt").read_text()
    print(dict(seen))


@pytest.mark.parametrize(
    "body", ["null", "0", '""', "[]", '{"dimensions":null}', '{"dimensions":[null]}', '{"dimensions":[{"id":null}],"measure":""}']
)
def test_shapes_that_a_parser_trips_over(server: Served, body: str):
    with server.client() as client:
        answer = client.post("/v1/datasets/enterprises/tables", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
