"""The built site: `.ci/site` builds it, and runs these tests; elsewhere those of pages are skipped, and say so."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def site() -> Path:
    folder = os.environ.get("COFACTOR_SITE")
    if not folder:
        pytest.skip("no COFACTOR_SITE: .ci/site builds the site and tests its pages")
    return Path(folder).absolute()
