"""What the benchmark scripts share: data, splits, the machine, and tables that go into docs/benchmarks."""

import os
import platform
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from cofactor.datasets import load_ratings
from cofactor.metrics import rating_report

#: Pages of tables, with their pictures.
PAGES = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"
SEEDS = (0, 1, 2)


def machine() -> str:
    """Describe the machine in a line."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{names[0] if names else platform.processor()}, {len(os.sched_getaffinity(0))} cores, {gib:.0f} GiB, "
        f"Python {platform.python_version()}, NumPy {np.__version__}"
    )


def split_80_20(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows."""
    order = np.random.default_rng(seed).permutation(n)
    cut = round(0.8 * n)
    return order[:cut], order[cut:]


def ml100k() -> tuple[np.ndarray, np.ndarray]:
    data = load_ratings("ml-100k")
    return data.X, data.y


def ml1m() -> tuple[np.ndarray, np.ndarray]:
    data = load_ratings("ml-1m")
    return data.X, data.y


def holdout_errors(model, X, y, seed: int) -> dict[str, float]:
    """Fit on 80 %, report errors on 20 %, the training MAE and the seconds of the fit."""
    train, test = split_80_20(len(y), seed)
    began = time.perf_counter()
    model.fit(X[train], y[train])
    seconds = time.perf_counter() - began
    report = rating_report(y[test], model.predict(X[test]), np.unique(y))
    report["train_mae"] = float(np.abs(model.predict(X[train]) - y[train]).mean())
    report["seconds"] = seconds
    return report


def mean_std(values: Iterable[float], digits: int = 4) -> str:
    """Format mean ± sample standard deviation."""
    v = np.asarray(list(values), dtype=float)
    spread = f" ± {v.std(ddof=1):.{digits}f}" if len(v) > 1 else ""
    return f"{v.mean():.{digits}f}{spread}"


def straight_line(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Fit seconds = fixed + each · size by least squares of the relative gaps."""
    terms = np.column_stack([np.ones(len(sizes)), sizes])
    fixed, each = np.linalg.lstsq(terms / seconds[:, None], np.ones(len(sizes)), rcond=None)[0]
    return fixed, each, terms @ [fixed, each]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Format a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def publish(section: str, text: str) -> None:
    """Print a section's text and put it between its markers, on the page that has them."""
    print(f"\n## {section}\n\n{text}\n", flush=True)
    begin, end = f"<!-- {section} -->", f"<!-- end {section} -->"
    body = f"{begin}\n{text}\n\n_{machine()}; {time.strftime('%Y-%m-%d')}._\n{end}"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
    for page in PAGES.glob("*.md"):
        if begin in (old := page.read_text()):
            page.write_text(pattern.sub(lambda _: body, old))
            return
    raise SystemExit(f"no page in {PAGES} has a section {begin}")
