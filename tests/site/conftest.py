"""The built site: `.ci/site` builds it, and runs these tests; without it they are skipped, and say so."""

from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "build" / "site"


@pytest.fixture(scope="session")
def site() -> Path:
    if not (SITE / "index.html").exists():
        pytest.skip("the site is not built: .ci/site quick builds it into build/site")
    return SITE
