"""One real server for all tests of its web: two processes, two datasets, keys of every role."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serve.live import Served, served, write_config


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("server")
    with served(folder, write_config(folder)) as found:
        yield found
