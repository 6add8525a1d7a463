from __future__ import annotations

import pytest

from statveil.core.errors import InputError
from statveil_lab.generators.register import register


def test_the_register_has_the_dimensions_it_says() -> None:
    records = register(20_000)
    codes = [len(set(records[name].to_pylist())) for name in ("district", "industry", "size", "form")]
    assert codes == [50, 80, 6, 5]
    assert len(set(records["unit"].to_pylist())) == 20_000
    assert 0.96 < len(set(records["holding"].to_pylist())) / 20_000 < 0.98
    assert min(records["turnover"].to_pylist()) == 0


def test_the_same_seed_gives_the_same_register() -> None:
    assert register(500, seed=3).equals(register(500, seed=3))
    assert not register(500, seed=3).equals(register(500, seed=4))
    with pytest.raises(InputError):
        register(0)
