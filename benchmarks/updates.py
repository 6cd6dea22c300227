"""What updates cost against full refits, after 1, 7 and 30 days: `python benchmarks/updates.py`."""

import time
from copy import copy
from typing import Any

import numpy as np
from common import publish, table

from cofactor.datasets import load_ratings
from cofactor.ratings import ALS, MMMF, OrdinalProbit
from cofactor.text import without_zero

DAY = 86_400
AFTER = (1, 7, 30)
#: Days whose ratings are predicted then.
AHEAD = 14
#: How many days before the end of the data the updates begin.
BEFORE_END = (44, 104)
MODELS = {
    "OrdinalProbit": OrdinalProbit(random_state=0),
    "ALS, alpha 10": ALS(alpha=10.0, random_state=0),
    "MMMF, 20 factors, alpha 8": MMMF(20, alpha=8.0, random_state=0),
}


def squares(model, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the squared errors of expected ratings, of MMMF those of levels."""
    found = model.predict(X) if isinstance(model, MMMF) else model.decision_function(X)
    return (found - y) ** 2


def refit_cost(found: np.ndarray, refitted: np.ndarray) -> str:
    """Return by how much the RMSE is above that of a refit, and the standard error of this."""
    rmse = np.sqrt(refitted.mean())
    differences = (found - refitted) / (2 * rmse)
    return f"{np.sqrt(found.mean()) - rmse:+.4f} ± {differences.std() / np.sqrt(len(differences)):.4f}"


def days_after(name: str, X: np.ndarray, y: np.ndarray, times: np.ndarray, began: float) -> dict[int, dict[str, Any]]:
    """Fit to what was there, take in a day at a time, and after some of the days predict what follows."""
    old = times <= began
    stale = copy(MODELS[name]).fit(X[old], y[old])
    model, seconds, found = copy(stale), 0.0, {}
    for day in range(1, max(AFTER) + 1):
        now = began + day * DAY
        today, known = (times > now - DAY) & (times <= now), times <= now
        if today.any():
            start = time.process_time()
            model.update(X[today], y[today])
            seconds += time.process_time() - start
        if day not in AFTER:
            continue
        start = time.process_time()
        refitted = copy(MODELS[name]).fit(X[known], y[known])
        refit = time.process_time() - start
        later = (times > now) & (times <= now + AHEAD * DAY) & np.isin(X[:, 0], X[known, 0])
        found[day] = {
            "errors": np.array([squares(one, X[later], y[later]) for one in (stale, model, refitted)]),
            "share": model.updates_.n_new / model.ratings_.n_ratings,
            "seconds": seconds / day,
            "refit": refit,
        }
    return found


def rows_of(name: str, X: np.ndarray, y: np.ndarray, times: np.ndarray) -> list[list[object]]:
    """Return the rows of a model, errors pooled over all beginnings."""
    parts = [days_after(name, X, y, times, times.max() - before * DAY) for before in BEFORE_END]
    rows = []
    for day in AFTER:
        errors = np.concatenate([part[day]["errors"] for part in parts], axis=1)
        share, seconds, refit = (np.mean([part[day][key] for part in parts]) for key in ("share", "seconds", "refit"))
        rows.append(
            [
                name, day, f"{100 * share:.1f} %", f"{errors.shape[1]:,}",
                *(without_zero(float(np.sqrt(one.mean())), 4) for one in errors),
                *(refit_cost(one, errors[2]) for one in errors[:2]),
                f"{seconds:.2f}", f"{refit:.1f}",
            ]
        )  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    data = load_ratings("ml-100k")
    times = data.timestamps.astype(float)
    header = [
        "model", "days", "new ratings", "predicted", "RMSE as it was", "updated", "refitted", "as it was - refitted",
        "updated - refitted", "CPU s a day's update", "CPU s a refit",
    ]  # fmt: skip
    publish("updates by day", table(header, [row for name in MODELS for row in rows_of(name, data.X, data.y, times)]))


if __name__ == "__main__":
    main()
