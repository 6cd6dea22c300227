"""``python -m cofactor`` is the command ``cofactor``."""

import sys

from cofactor.cli import main

if __name__ == "__main__":
    sys.exit(main())
