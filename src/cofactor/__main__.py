"""``python -m cofactor`` is the command ``cofactor``."""

import sys

from cofactor.cli import main

sys.exit(main())
