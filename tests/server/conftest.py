"""One real server for all tests of its web: two processes, two datasets, keys of every role; and one PostgreSQL for all stores."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.live import Served, served, write_config
from tests.server.stores import private_postgres


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("server")
    with served(folder, write_config(folder)) as found:
        yield found


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    try:
        with private_postgres() as address:
            yield address
    except FileNotFoundError as reason:
        pytest.skip(f"No PostgreSQL of our own: {reason}.")
