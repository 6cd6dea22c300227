"""Recommendations: how good lists are, whether P(interact) is calibrated, and what they cost.

python benchmarks/recommenders.py measure FILE [SPLIT ...]    cells that FILE, of a JSON object a line, has not yet
python benchmarks/recommenders.py publish FILE                the table of them, into docs/benchmarks
python benchmarks/recommenders.py calibration [SET:SEED ...]  bins of P(interact), into docs/benchmarks
python benchmarks/recommenders.py times                       seconds on ML-100K and ML-1M, on an idle machine
"""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from common import publish, table
from shops import SETS, Task
from shops import split as halves

from cofactor.datasets import load_ratings
from cofactor.evaluation import PerUserHoldout, evaluate_recommendations
from cofactor.problems.choice import inclusion_probabilities, log_shares
from cofactor.ratings import BPR, EASE, ImplicitALS, ItemKNN, LogisticMF, OrdinalProbit, Recommender, RP3beta
from cofactor.text import without_zero

#: What each split is called: its data, protocol, seeds, and what was asked of likes and of any interaction.
SPLITS: dict[str, tuple[str, str, tuple[int, ...], str]] = {
    "ML-100K": ("ml-100k", "per-user", (10, 11, 12, 13), ".405 / .447"),
    "latest-small": ("ml-latest-small", "per-user", (10, 11), ".316"),
    "ML-100K, a fifth of the users new": ("ml-100k", "new-users", (10, 11, 12, 13), ".384"),
    "ML-100K, last fifth of each user": ("ml-100k", "user-last", (10,), ".224"),
    "ML-1M": ("ml-1m", "per-user", (10, 11), ".396 / .437"),
}
ALL, INTERACTIONS = "Recommender()", "Recommender(), by interaction"
RECENT = "Recommender([EASE(recency=10), LogisticMF()])"
METHODS: dict[str, Callable[[int], Any]] = {
    ALL: lambda seed: Recommender(random_state=seed),
    # Its rating model is idle here.
    INTERACTIONS: lambda seed: Recommender(ratings=OrdinalProbit(10, n_sweeps=9, burn_in=4), random_state=seed),
    RECENT: lambda seed: Recommender([EASE(recency=10), LogisticMF()], random_state=seed),
    "EASE()": lambda seed: EASE(random_state=seed),
    "EASE(recency=10)": lambda seed: EASE(recency=10, random_state=seed),
    "LogisticMF()": lambda seed: LogisticMF(random_state=seed),
    "ImplicitALS()": lambda seed: ImplicitALS(random_state=seed),
    "RP3beta()": lambda seed: RP3beta(),
    "ItemKNN()": lambda seed: ItemKNN(),
    "BPR()": lambda seed: BPR(random_state=seed),
    "OrdinalProbit(10), P(≥ 4)": lambda seed: OrdinalProbit(10, random_state=seed),
}
TIMED = {RECENT, "EASE(recency=10)"}
EDGES = (0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.01)
#: Sets of `shops.py` and seeds on which P(interact) is compared with what came, users, and items that are looked at.
CALIBRATED = {
    "ML-100K": (10, 11, 12, 13),
    "ML-1M": (10,),
    "latest-small": (10, 11),
    "Douban": (10, 11),
    "Epinions": (10, 11),
}
MOST, LIKELY = 1_000, 800


def methods_of(split: str) -> list[str]:
    """Return the methods to measure: those with recency where time says what is next."""
    return [name for name in METHODS if name not in TIMED or "last" in split]


def cell(split: str, seed: int, method: str) -> dict[str, Any]:
    """Fit, recommend, and return what each user's list is worth."""
    data, protocol, _, _ = SPLITS[split]
    loaded = load_ratings(data)
    began = time.process_time()
    found = evaluate_recommendations(
        {method: METHODS[method](seed)}, loaded.X, loaded.y, protocol, random_state=seed, likes=4, test_size=0.2,
        test_users=0.2, time=loaded.timestamps if protocol == "user-last" else None,
        ranking={"rank_by": "interaction"} if method == INTERACTIONS else None,
    )  # fmt: skip
    one = {"split": split, "seed": seed, "method": method, "seconds": time.process_time() - began}
    for name in (method, "popularity"):
        values = {metric: found.of(name, f"{metric}@10") for metric in ("ndcg", "any_ndcg")}
        lists = {metric: [None if np.isnan(v) else round(float(v), 5) for v in row] for metric, row in values.items()}
        one |= lists if name == method else {f"popular_{metric}": row for metric, row in lists.items()}
    return one


def measure(file: Path, splits: list[str]) -> None:
    done = {(one["split"], one["seed"], one["method"]) for one in read(file)}
    for split in splits or list(SPLITS):
        for seed in SPLITS[split][2]:
            for method in methods_of(split):
                if (split, seed, method) in done:
                    continue
                found = cell(split, seed, method)
                with file.open("a") as stream:
                    stream.write(json.dumps(found) + "\n")
                means = {metric: _mean(found[metric]) for metric in ("ndcg", "any_ndcg")}
                print(split, seed, method, means, f"{found['seconds']:.1f}", flush=True)


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _mean(row: list[float | None]) -> float:
    return float(np.nanmean(np.array(row, dtype=float)))


def against(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> str:
    """Return the mean difference in nDCG of likes, and its standard error over users, bold beyond twice that."""
    other = {one["seed"]: one["ndcg"] for one in theirs}
    rows = [np.array(one["ndcg"], dtype=float) - np.array(other[one["seed"]], dtype=float) for one in ours]
    mean = float(np.mean([np.nanmean(row) for row in rows]))
    error = float(np.mean([np.nanstd(row) / np.sqrt(np.sum(~np.isnan(row))) for row in rows]))
    text = f"{mean:+.4f} ± {error:.4f}"
    return f"**{text}**" if abs(mean) > 2 * error else text


def results(file: Path) -> str:
    found: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for one in read(file):
        found[one["split"]][one["method"]].append(one)
    rows = []
    for split, (_, _, _, asked) in SPLITS.items():
        cells = found[split]
        first = next(iter(cells.values()), [])
        cells["popularity"] = [one | {m: one[f"popular_{m}"] for m in ("ndcg", "any_ndcg")} for one in first]
        base = RECENT if "last" in split else ALL
        for method in [name for name in (*METHODS, "popularity") if cells[name]]:
            mine = cells[method]
            values = [without_zero(np.mean([_mean(one[m]) for one in mine]), 4) for m in ("ndcg", "any_ndcg")]
            difference = "" if method == base else against(mine, cells[base])
            rows.append([split, len(mine), method, *values, difference, asked if method == base else ""])
    header = ["split", "seeds", "method", "likes", "any", "likes, less the first", "asked: at least"]
    text = (
        "nDCG@10 of what was liked (rated 4 or more) and of any interaction; seen items excluded, all others ranked. A "
        "difference stands beside its standard error over the users of one split, bold where it exceeds twice that. "
        "It is to the recommender with all parts, which on the last fifth is the one with recency.\n\n"
    )
    return text + table(header, rows)


# ---------------------------------------------------------------- calibration


Sums = tuple[float, float, float, int]
"""What was expected of some pairs, what was seen, the standard error of the difference over users, and how many."""


def sums(p: np.ndarray, came: np.ndarray, inside: np.ndarray) -> Sums:
    of_users = np.where(inside, came - p, 0).sum(axis=1)
    return p[inside].sum(), came[inside].sum(), float(np.sqrt(np.sum(of_users**2))), int(inside.sum())


def calibration_of(name: str, seed: int) -> list[Sums]:
    """Return what is said of pairs in each bin, of the first ten items of each list, and of the likeliest .1 %."""
    train, test = halves(SETS[name](), seed)
    model = Recommender(ratings=None, random_state=seed).fit(train)
    task = Task(train, test)
    users = task.users[np.isin(task.users, model.users_.ids)][:: -(-len(task.users) // MOST)]
    known = np.flatnonzero(train.sum(axis=0))
    seen, came = (table[users][:, known].toarray() > 0 for table in (train, test))
    utilities = model.utilities(users)[:, model.items_.index(known)]
    shares = np.exp(log_shares(utilities, seen).astype(float))
    likely = np.argpartition(-shares, min(LIKELY, len(known) - 1), axis=1)[:, :LIKELY]
    n_came = came.sum(axis=1)
    p = np.zeros(shares.shape)
    np.put_along_axis(p, likely, inclusion_probabilities(np.take_along_axis(shares, likely, axis=1), n_came), axis=1)
    open_ = ~seen & (n_came > 0)[:, None]
    first = np.zeros_like(open_)
    np.put_along_axis(first, np.argsort(np.where(open_, -p, 1), axis=1)[:, :10], True, axis=1)
    least = np.quantile(p[open_], 0.999)
    bins = [sums(p, came, open_ & (p >= low) & (p < high)) for low, high in pairwise(EDGES)]
    return [*bins, sums(p, came, open_ & first), sums(p, came, open_ & (p >= least))]


def calibration(names: list[str]) -> None:
    """Measure some sets, or all: a set and a seed such as Douban:10."""
    rows = []
    for one in names or [f"{name}:{seed}" for name, seeds in CALIBRATED.items() for seed in seeds]:
        name, seed = one.rsplit(":", 1)
        found, cells = calibration_of(name, int(seed)), []
        for k, (expected, observed, error, n) in enumerate(found):
            good = abs(observed - expected) <= max(0.1 * observed, 2 * error)
            of_pairs = k < len(EDGES) - 1  # a mean; of lists a sum
            shown = [without_zero(x / max(n, 1), 3) if of_pairs else f"{x:.0f}" for x in (expected, observed)]
            cells.append(" / ".join(shown) + ("" if good else " !") if n else "–")
        rows.append([name, seed, *cells])
        print(rows[-1], flush=True)
    header = ["data", "seed", *(f"{low} to {min(high, 1)}" for low, high in pairwise(EDGES)), "first ten", "top .1 %"]
    text = (
        "A random fifth of each user held out: the probability that an item is among the K interactions of a user that "
        "were held out, t P with t such that they sum to K, and a round corner below 1; predicted / observed, by bins "
        "of it, and sums over the ten likeliest of each user, and over the likeliest thousandth of all pairs. Of at "
        f'most {MOST:,} users. "!" stands where the two differ by more than 10 % and by more than two standard errors '
        "over users.\n\n"
    )
    publish("calibration of recommendations", text + table(header, rows))


# ---------------------------------------------------------------- times


def _clocked(task: Callable[[], object], repeats: int = 1) -> tuple[float, float]:
    """Return the median of seconds, and the mean of processor seconds."""
    walls, began = [], time.process_time()
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        walls.append(time.perf_counter() - start)
    return float(np.median(walls)), (time.process_time() - began) / repeats


def times_on(data: str) -> list[tuple[float, float]]:
    """Return what a fit takes, ten items for all users, ten for one, and ten after a fold-in of 20 ratings."""
    loaded = load_ratings(data)
    X, y = loaded.X, loaded.y
    train, _ = next(PerUserHoldout(0.2, n_splits=1, random_state=10).split(X, y))
    Recommender(random_state=0).fit(X[:5000], y[:5000]).recommend(n=3)  # loads machine code
    model = Recommender(random_state=0)
    fit = _clocked(lambda: model.fit(X[train], y[train]))
    one, items = model.users_.ids[3:4], model.items_.ids[:: len(model.items_) // 20][:20].tolist()
    new, stars = [(10**9, item) for item in items], [1, 2, 3, 4, 5] * 4
    return [
        fit,
        _clocked(model.recommend, 3),
        _clocked(lambda: model.recommend(one), 50),
        _clocked(lambda: model.fold_in(new, stars).recommend([10**9]), 50),
    ]


def _shown(wall: float, cpu: float) -> str:
    return f"{1e3 * wall:.1f} / {1e3 * cpu:.1f} ms" if wall < 0.5 else f"{wall:.1f} / {cpu:.1f} s"


def times() -> None:
    rows = []
    for data in ("ml-100k", "ml-1m"):
        rows.append([data, *(_shown(*pair) for pair in times_on(data))])
        print(rows[-1], flush=True)
    header = ["data (80 %)", "fit", "ten for all users", "ten for one", "20 ratings folded in, and ten"]
    note = "Seconds / processor seconds of `Recommender()`. Asked: 6 s (ML-100K), 45 s; 3 s; 3 ms; 10 ms.\n\n"
    publish("times of recommendations", note + table(header, rows))


if __name__ == "__main__":
    command, rest = sys.argv[1], sys.argv[2:]
    if command == "measure":
        measure(Path(rest[0]), rest[1:])
    elif command == "publish":
        publish("recommenders", results(Path(rest[0])))
    else:
        {"calibration": lambda: calibration(rest), "times": times}[command]()
