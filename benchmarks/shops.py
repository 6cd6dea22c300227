"""Do defaults hold on clicks and purchases? Each model of interactions by default beside its best setting.

    python benchmarks/shops.py measure FILE [SET ...]    cells that FILE, of a JSON object a line, does not have yet
    python benchmarks/shops.py publish FILE              tables of them, into docs/benchmarks
    python benchmarks/shops.py show FILE                 the same, printed
    python benchmarks/shops.py fits FILE [SET ...]       what `Recommender()` takes and reaches
    python benchmarks/shops.py publish-fits FILE [OLD]   that, beside an earlier version, into README.md

A fifth of the interactions of each user is the test, and all items that the user has not in training are ranked. The
settings beside the defaults are chosen by a fifth of what is left, one parameter after the other, and fitted to all
of the training part then. nDCG@10 is that of the users of the test, 3,000 of them at most. Sets that are not in
COFACTOR_DATA are left out.
"""

import gzip
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import SEEDS, publish, table
from scipy import sparse

from cofactor.datasets import load_ratings, make_interactions
from cofactor.metrics.topn import user_ndcgs
from cofactor.metrics.user_means import user_mean
from cofactor.model.splits import PerUserHoldout
from cofactor.ratings import BPR, EASE, ImplicitALS, ItemKNN, LogisticMF, Popularity, Recommender, RP3beta
from cofactor.text import without_zero

SEED, MOST_USERS = 0, 3_000
LIKED_JOKE, NO_JOKE = 5.0, 99.0  # of ratings from -10 to 10

Interactions = sparse.csr_array


# ---------------------------------------------------------------- sets


def ratings_of(name: str) -> Interactions:
    """Return what was rated, whatever the rating."""
    X = load_ratings(name).X
    return ones(*(np.unique(column, return_inverse=True)[1] for column in X.T))


def table_of(name: str, n_headers: int) -> Interactions:
    """Return the pairs of the first two columns of a compressed table."""
    with gzip.open(Path(os.environ["COFACTOR_DATA"], "topn", name), "rt") as lines:
        pairs = [line.split("\t")[:2] for line in lines][n_headers:]
    return ones(*(np.unique(column, return_inverse=True)[1] for column in np.array(pairs).T))


def monti(name: str) -> Interactions:
    import h5py

    with h5py.File(Path(os.environ["COFACTOR_DATA"], "monti", f"{name}.mat")) as file:
        return ones(*np.nonzero(file["M"][()].T))


def jokes() -> Interactions:
    path = Path(os.environ["COFACTOR_DATA"], "jester", "jester-data-1.csv.gz")
    ratings = np.loadtxt(path, delimiter=",")[:, 1:]
    return ones(*np.nonzero((ratings >= LIKED_JOKE) & (ratings < NO_JOKE)))


def made_up(n_users: int, n_items: int, n_interactions: int) -> Interactions:
    return make_interactions(n_users, n_items, n_interactions, n_factors=20, random_state=0)[0]


def ones(users: np.ndarray, items: np.ndarray) -> Interactions:
    found = Interactions((np.ones(len(users), np.float32), (users, items)))
    found.sum_duplicates()
    found.data[:] = 1
    found = found[np.diff(found.indptr) > 0]
    return found[:, np.flatnonzero(found.sum(axis=0))]


SETS: dict[str, Callable[[], Interactions]] = {
    "ML-100K": lambda: ratings_of("ml-100k"),
    "latest-small": lambda: ratings_of("ml-latest-small"),
    "Steam": lambda: table_of("steam/game_purchase.dat.gz", 1),
    "Flixster": lambda: monti("flixster"),
    "Douban": lambda: monti("douban"),
    "Epinions": lambda: table_of("epinions/train-0.tsv.gz", 0),
    "BookCrossing": lambda: table_of("book-crossing/book_history.dat.gz", 1),
    "Jester ≥ 5": jokes,
    "shop, 5,000 items": lambda: made_up(20_000, 5_000, 200_000),
    "ML-1M": lambda: ratings_of("ml-1m"),
    "shop, 20,000 items": lambda: made_up(50_000, 20_000, 806_000),
}

#: For `fits` alone, and of one split.
LARGE = {"shop, 50,000 items": lambda: made_up(200_000, 50_000, 5_000_000)}

# ---------------------------------------------------------------- models

#: The model of each name, and its settings: values of one parameter after the other, the first of each to begin with.
#: Those of `unobserved` are shares of "auto".
METHODS: dict[str, tuple[Any, dict[str, tuple[float, ...]]]] = {
    "Popularity": (Popularity, {}),
    "ItemKNN": (ItemKNN, {"n_neighbors": (200, 50, 1000), "shrinkage": (20, 0, 5, 100)}),
    "RP3beta": (RP3beta, {"alpha": (0.7, 0.4, 1.0), "beta": (0.4, 0.2, 0.6, 0.0), "n_neighbors": (200, 50, 1000)}),
    "ImplicitALS": (
        ImplicitALS,
        {"alpha": (0.032, 0.0032, 0.01, 0.1), "n_factors": (64, 16, 128), "unobserved": (1, 0.25, 4)},
    ),
    "LogisticMF": (LogisticMF, {"alpha": (9, 4.5, 18, 36), "n_factors": (28, 14, 56)}),
    "BPR": (
        BPR,
        {"alpha": (0.03, 0.007, 0.015, 0.06), "n_factors": (16, 64), "max_iter": (80, 160), "learning_rate": (0.05,)},
    ),
    "EASE": (EASE, {"alpha": (100, 25, 50, 200, 400, 1600)}),
    "Recommender": (Recommender, {}),
}


def model_of(name: str, interactions: Interactions, settings: dict[str, float]) -> Any:
    kind = METHODS[name][0]
    given: dict[str, Any] = {key: value for key, value in settings.items() if key != "unobserved"}
    if "unobserved" in settings:
        n, m = interactions.shape
        given["unobserved"] = min(1.0, 8 * settings["unobserved"] * interactions.nnz / (n * m))
    if name == "Recommender":
        given["ratings"] = None
    if "random_state" in kind().get_params():
        given["random_state"] = SEED
    return kind(**given)


def part(interactions: Interactions, rows: np.ndarray) -> Interactions:
    """Return some of the interactions, of the same users and items."""
    pairs = interactions.tocoo()
    return Interactions((pairs.data[rows], (pairs.row[rows], pairs.col[rows])), shape=interactions.shape)


def split(interactions: Interactions, seed: int) -> tuple[Interactions, Interactions]:
    pairs = interactions.tocoo()
    train, test = next(
        PerUserHoldout(0.2, n_splits=1, random_state=seed).split(np.column_stack([pairs.row, pairs.col]))
    )
    return part(interactions, train), part(interactions, test)


class Task:
    """Interactions to learn from, and those held out of users to be looked at."""

    def __init__(self, train: Interactions, test: Interactions) -> None:
        users = np.flatnonzero(np.diff(test.indptr))
        if len(users) > MOST_USERS:
            users = np.sort(np.random.default_rng(SEED).choice(users, MOST_USERS, replace=False))
        self.train, self.users, self.held = train, users, test[users]

    def ndcgs(self, name: str, settings: dict[str, float]) -> tuple[np.ndarray, dict[str, Any]]:
        """Return nDCG@10 of each user, and what a fit took and chose."""
        began, busy = time.perf_counter(), time.process_time()
        model = model_of(name, self.train, settings).fit(self.train)
        facts = {"wall": time.perf_counter() - began, "cpu": time.process_time() - busy, "chosen": chosen(model)}
        return user_ndcgs(lists_of(model, self.users), self.held, 10), facts


def lists_of(model: Any, users: np.ndarray) -> np.ndarray:
    items = model.recommend(users, 10).items
    return np.where(np.equal(items, None), -1, items).astype(np.int64)


def chosen(model: Any) -> dict[str, Any]:
    """Return what a fit chose."""
    found = {name: round(value, 5) for name, value in vars(model).items() if name in ("alpha_", "beta_", "unobserved_")}
    if hasattr(model, "tried_"):
        columns = ("model", "settings", "gain", "weight")
        found["tried"] = [dict(zip(columns, row, strict=True)) for row in zip(*model.tried_.values(), strict=True)]
    elif hasattr(model, "V_"):
        found["n_factors"] = model.V_.shape[1]
    return found


# ---------------------------------------------------------------- cells


def best_settings(name: str, task: Task) -> dict[str, float]:
    """Return the best of the settings of a model, one parameter after the other."""
    grid = METHODS[name][1]
    settings = {key: values[0] for key, values in grid.items()}
    highest = -np.inf
    for key, values in grid.items():
        for value in values if highest == -np.inf else values[1:]:
            tried = {**settings, key: value}
            found = float(np.nanmean(task.ndcgs(name, tried)[0]))
            if found > highest:
                highest, best = found, tried
        settings = best
    return settings


def measure(file: Path, names: list[str]) -> None:
    done = {(one["set"], one["method"], one["how"]) for one in read(file)}
    for name in names or list(SETS):
        try:
            interactions = SETS[name]()
        except OSError as error:
            print(name, error, file=sys.stderr)
            continue
        train, test = split(interactions, SEED)
        whole, inner = Task(train, test), Task(*split(train, SEED + 1))
        for method, (_, grid) in METHODS.items():
            for how in ("default", "best") if grid else ("default",):
                if (name, method, how) in done:
                    continue
                settings = best_settings(method, inner) if how == "best" else {}
                values, facts = whole.ndcgs(method, settings)
                print(name, method, how, round(float(np.nanmean(values)), 4), settings, facts, flush=True)
                one = {"set": name, "method": method, "how": how, "settings": settings, **facts}
                one |= {"n": np.diff(train.indptr)[whole.users].tolist(), "ndcg": values.round(5).tolist()}
                with file.open("a") as stream:
                    stream.write(json.dumps(one) + "\n")


# ---------------------------------------------------------------- fits of the recommender


def fits(file: Path, names: list[str]) -> None:
    """Let a process each fit `Recommender()` to what FILE does not have yet."""
    done = {(one["set"], one["seed"]) for one in read(file)}
    for name in names or [*SETS, *LARGE]:
        for seed in SEEDS[: 1 if name in LARGE else None]:
            if (name, seed) not in done:
                subprocess.run([sys.executable, __file__, "fit", str(file), name, str(seed)], check=False)


def fit(file: Path, name: str, seed: int) -> None:
    def recommender() -> Recommender:
        return Recommender(ratings=None, random_state=seed)

    recommender().fit(made_up(300, 200, 6_000))  # which loads kernels
    train, test = split({**SETS, **LARGE}[name](), seed)
    task = Task(train, test)
    began, busy = time.perf_counter(), time.process_time()
    model = recommender().fit(train)
    one = {"set": name, "seed": seed, "shape": train.shape, "n": train.nnz}
    one |= {"wall": time.perf_counter() - began, "cpu": time.process_time() - busy}
    one["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    one |= {"parts": [type(part).__name__ for part in model.implicit_models_], **chosen(model)}
    one["ndcg"] = user_ndcgs(lists_of(model, task.users), task.held, 10).round(5).tolist()
    print(name, seed, {key: value for key, value in one.items() if key not in ("ndcg", "tried")}, flush=True)
    with file.open("a") as stream:
        stream.write(json.dumps(one) + "\n")


def table_of_fits(file: Path, old: Path | None) -> str:
    before = {(one["set"], one["seed"]): one for one in ([] if old is None else read(old))}
    rows = []
    for name in [*SETS, *LARGE]:
        cells = [one for one in read(file) if one["set"] == name]
        if not cells:
            continue
        own = [user_mean(np.array(one["ndcg"])) for one in cells]
        row = [name, len(cells), "{:,} × {:,}".format(*cells[0]["shape"]), f"{cells[0]['n']:,}"]
        row += [f"{np.mean([one[key] for one in cells]):.1f}" for key in ("wall", "cpu")]
        row += [f"{max(one['peak'] for one in cells):.1f}"]
        row += [f"{np.mean([one.mean for one in own]):.4f} ± {np.mean([one.error for one in own]):.4f}"]
        row += [" / ".join(dict.fromkeys(", ".join(one["parts"]) for one in cells))]
        if old is not None:
            pairs = [(one, before[key]) for one in cells if (key := (one["set"], one["seed"])) in before]
            gaps = [user_mean(np.array(one["ndcg"]) - np.array(earlier["ndcg"])) for one, earlier in pairs]
            row += [f"{np.mean([earlier['cpu'] for _, earlier in pairs]):.1f}" if pairs else ""]
            row += [f"{np.mean([g.mean for g in gaps]):+.4f} ± {np.mean([g.error for g in gaps]):.4f}" if gaps else ""]
        rows.append(row)
    header = ["set", "splits", "users × items", "interactions", "s", "CPU s", "GiB", "nDCG@10", "what it is made of"]
    return table([*header, *([] if old is None else ["CPU s before", "nDCG@10 less before"])], rows)


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


# ---------------------------------------------------------------- tables


def results(file: Path) -> str:
    cells: dict[str, dict[tuple[str, str], np.ndarray]] = {}
    few: dict[str, np.ndarray] = {}
    for one in read(file):
        cells.setdefault(one["set"], {})[one["method"], one["how"]] = np.array(one["ndcg"])
        few[one["set"]] = np.array(one["n"]) <= 3
    names = [name for name in SETS if name in cells]
    rows, gaps, sparse_rows = [], [], []
    for method, (_, grid) in METHODS.items():
        row, gap, of_few = [method], [method], [method]
        for name in names:
            found = cells[name].get((method, "default"))
            popular, best = cells[name]["Popularity", "default"], cells[name].get((method, "best"))
            if found is None:
                cell, apart, mean = "", "", ""
            else:
                cell = without_zero(np.mean(found), 3) + ("" if is_above(found, popular) else " ↓")
                if method == "Recommender":
                    cell += "" if is_above(found, highest(cells[name])) else " ↓"
                apart = "" if best is None else less(found, best)
                looked = found[few[name]]
                mean = less(looked, popular[few[name]]) if len(looked) else ""
            row.append(cell)
            gap.append(apart)
            of_few.append(mean)
        rows.append(row)
        sparse_rows.append(of_few)
        if grid:
            gaps.append(gap)
    rows.insert(
        len(rows) - 1, ["best of these, by its best setting", *(f"{np.mean(highest(cells[k])):.3f}"[1:] for k in names)]
    )
    header = ["nDCG@10", *names]
    return (
        "By default. An arrow marks what is below popularity by more than a standard error over users, of the "
        "recommender what is so below the best of all models and settings, picked by the test itself.\n\n"
        + table(header, rows)
        + "\n\nDefault less best setting; bold where it exceeds twice its standard error over users.\n\n"
        + table(["less best", *names], gaps)
        + "\n\nUsers with one to three interactions in training: less popularity.\n\n"
        + table(["less popularity", *names], sparse_rows[1:])
    )


def highest(found: dict[tuple[str, str], np.ndarray]) -> np.ndarray:
    """Return the values of the model and setting with the highest mean, the recommender apart."""
    return max((values for (method, _), values in found.items() if method != "Recommender"), key=np.mean)


def is_above(values: np.ndarray, others: np.ndarray) -> bool:
    """Whether values are at most a standard error below others."""
    gap = user_mean(values - others)
    return bool(gap.mean >= -gap.error)


def less(values: np.ndarray, others: np.ndarray) -> str:
    gap = user_mean(values - others)
    text = f"{gap.mean:+.3f} ± {gap.error:.3f}"
    return f"**{text}**" if abs(gap.mean) > 2 * gap.error else text


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    command, path, *rest = sys.argv[1:]
    if command == "measure":
        measure(Path(path), rest)
    elif command == "fits":
        fits(Path(path), rest)
    elif command == "fit":
        fit(Path(path), rest[0], int(rest[1]))
    elif command == "publish-fits":
        publish("fits of recommenders", table_of_fits(Path(path), Path(rest[0]) if rest else None))
    elif command == "publish":
        publish("shops", results(Path(path)))
    else:
        print(results(Path(path)))
