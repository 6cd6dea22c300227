"""How fits of the contract tests of labels are made shorter."""

import pytest

from cofactor.labels import base

from .models import data


@pytest.fixture
def half_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two copies of a model give held-out scores, of half the data: two more would be fitted in the same way."""
    monkeypatch.setattr(base, "ENOUGH", len(data()[0]) // 2)
