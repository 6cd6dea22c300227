"""Models of ratings and other libraries on the same splits: `python benchmarks/peers.py`, with the extra `peers`.

Each fit runs in a process of its own, after a small fit that compiles or loads what it needs. What is measured is kept
as lines of JSON, and not measured again, so that a run can go on: `peers.py measure NAME ...` measures these methods,
`peers.py table` writes the table and the picture from what is there, `peers.py` does both. COFACTOR_PEERS_CACHE names
the file of the lines (remove it to start anew), COFACTOR_PEERS_SEEDS the number of splits.

Our models run with their defaults. Peers run with the settings their authors recommend, or the best of a few tried on
the first test split, in their favour. Predictions are level-valued: real-valued ones are rounded to the nearest level,
probabilities give the median level.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import PAGES, SEEDS, mean_std, ml100k, publish, split_80_20, table

from cofactor.metrics import log_loss, rating_report
from cofactor.metrics.scale import nearest_levels
from cofactor.ratings import MODELS

SCALE = np.arange(1.0, 6.0)
SECTION = "peers on MovieLens 100K"
CACHE = Path(os.environ.get("COFACTOR_PEERS_CACHE", Path(tempfile.gettempdir()) / "cofactor-peers.jsonl"))
SPLITS = SEEDS[: int(os.environ.get("COFACTOR_PEERS_SEEDS", len(SEEDS)))]

#: Of a method: fit to pairs X and ratings y with a seed; return what predicts levels, and what gives probabilities.
Predict = Callable[[np.ndarray], np.ndarray]
Method = Callable[[np.ndarray, np.ndarray, int], tuple[Predict, Predict | None]]


def ours(name: str, **params) -> Method:
    def fit(X, y, seed):
        model = MODELS[name](random_state=seed, **params).fit(X, y)
        return model.predict, getattr(model, "predict_proba", None)

    return fit


def surprise_model(name: str) -> Method:
    def fit(X, y, seed):
        import pandas as pd
        import surprise

        frame = pd.DataFrame({"user": X[:, 0], "item": X[:, 1], "rating": y})
        data = surprise.Dataset.load_from_df(frame, surprise.Reader(rating_scale=(1, 5))).build_full_trainset()
        model = getattr(surprise, name)(random_state=seed).fit(data)
        return lambda test: nearest([model.predict(u, i).est for u, i in test]), None

    return fit


def cmfrec_als(**params) -> Method:
    def fit(X, y, seed):
        import pandas as pd
        from cmfrec import CMF

        frame = pd.DataFrame({"UserId": X[:, 0], "ItemId": X[:, 1], "Rating": y})
        model = CMF(method="als", nthreads=2, verbose=False, random_state=seed, **params).fit(frame)

        def predict(test):
            estimates = model.predict(test[:, 0], test[:, 1])
            return nearest(np.where(np.isfinite(estimates), estimates, y.mean()))

        return predict, None

    return fit


def myfm_probit(implicit: bool) -> Method:
    """Ordered probit of a factorization machine; `implicit` adds to a user his items and to an item its users."""

    def fit(X, y, seed):
        from myfm import MyFMOrderedProbit, RelationBlock
        from scipy.sparse import csr_matrix, hstack, identity

        users, u = np.unique(X[:, 0], return_inverse=True)
        items, i = np.unique(X[:, 1], return_inverse=True)
        shape = (len(users), len(items))
        sides = [identity(n, format="csr") for n in shape]
        groups = list(shape)
        if implicit:
            rows = [csr_matrix((np.bincount(k)[k] ** -0.5, (u, i)), shape) for k in (u, i)]  # of norm one
            sides = [csr_matrix(hstack([sides[0], rows[0]])), csr_matrix(hstack([sides[1], rows[1].T]))]
            groups = [shape[0], shape[1], shape[1], shape[0]]
        for n, side in zip(shape, sides, strict=True):
            side.resize(n + 1, side.shape[1])  # the last row has no features: it stands for whatever is not known

        def blocks(pairs):
            places = [position(ids, pairs[:, k]) for k, ids in enumerate((users, items))]
            return [RelationBlock(at, of) for at, of in zip(places, sides, strict=True)]

        model = MyFMOrderedProbit(rank=10, random_seed=seed)
        levels = (y - 1).astype(int)
        model.fit(None, levels, blocks(X), n_iter=300, n_kept_samples=200, group_shapes=groups)

        def probabilities(pairs):
            return model.predict_proba(None, blocks(pairs))

        return lambda pairs: 1.0 + (np.cumsum(probabilities(pairs), axis=1) < 0.5).sum(axis=1), probabilities

    return fit


def most_frequent(X, y, seed):
    shares = np.array([(y == level).mean() for level in SCALE])
    return lambda test: np.full(len(test), SCALE[shares.argmax()]), lambda test: np.tile(shares, (len(test), 1))


def user_median(X, y, seed):
    users, u = np.unique(X[:, 0], return_inverse=True)
    parts = np.split(y[np.argsort(u, kind="stable")], np.cumsum(np.bincount(u))[:-1])
    medians = np.array([np.median(part) for part in [*parts, y]])
    return lambda test: nearest(medians[position(users, test[:, 0])]), None


def position(ids, wanted):
    """Return places of ids among sorted ones; where they are not there, their number."""
    at = np.searchsorted(ids, wanted)
    return np.where(ids[np.minimum(at, len(ids) - 1)] == wanted, at, len(ids))


def nearest(estimates):
    return SCALE[nearest_levels(estimates, SCALE) - 1]


#: Methods by name; whose they are.
OURS: dict[str, Method] = {name: ours(name) for name in MODELS if name != "BinaryMMMF"} | {
    "OrdinalProbit, implicit=None": ours("OrdinalProbit", implicit=None),
    "Ensemble, bagging": ours("Ensemble", method="bagging"),
}
PEERS: dict[str, Method] = {
    "scikit-surprise SVD": surprise_model("SVD"),
    "scikit-surprise SVD++": surprise_model("SVDpp"),
    "cmfrec ALS": cmfrec_als(k=40, lambda_=10.0),
    "cmfrec ALS, implicit features": cmfrec_als(k=40, lambda_=10.0, add_implicit_features=True),
    "myFM ordered probit": myfm_probit(False),
    "myFM ordered probit, implicit features": myfm_probit(True),
}
BASELINES: dict[str, Method] = {"most frequent level": most_frequent, "median of the user": user_median}
METHODS = OURS | PEERS | BASELINES


def memory(key: str) -> float:
    """Return MB of this process: VmRSS now, VmHWM the peak. Unlike ru_maxrss, it starts anew with the process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1e3


def one(name: str, seed: int) -> dict[str, float]:
    """Fit and predict once, in this process."""
    warnings.simplefilter("ignore")
    X, y = ml100k()
    train, test = split_80_20(len(y), seed)
    small = train[:2000]
    predict, _ = METHODS[name](X[small], y[small], seed)
    predict(X[test[:1000]])
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from here
    before = memory("VmRSS")
    began = time.perf_counter()
    predict, probabilities = METHODS[name](X[train], y[train], seed)
    predicted = predict(X[test])
    found = {"seconds": time.perf_counter() - began, "mb": memory("VmHWM") - before}
    report = rating_report(y[test], predicted, SCALE)
    found |= {key: float(report[key]) for key in ("mae", "zero_one")}
    if probabilities is not None:
        found["log_loss"] = float(log_loss(y[test], probabilities(X[test]), SCALE))
    return found


def measured() -> dict[str, dict[int, dict[str, float]]]:
    """Return what is kept: by method and seed, the last that was measured."""
    found: dict[str, dict[int, dict[str, float]]] = {}
    for line in CACHE.read_text().splitlines() if CACHE.exists() else []:
        record = json.loads(line)
        found.setdefault(record.pop("method"), {})[record.pop("seed")] = record
    return found


def measure(names: list[str]) -> None:
    for name in names:
        for seed in SPLITS:
            if seed in measured().get(name, {}):
                continue
            command = [sys.executable, __file__, "one", name, str(seed)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{name}, seed {seed}: {done.stderr[-2000:]}")
            line = json.dumps({"method": name, "seed": seed} | json.loads(done.stdout.splitlines()[-1]))
            print(line, flush=True)
            with CACHE.open("a") as file:
                file.write(line + "\n")


def write_table() -> None:
    columns = {}
    for name, runs in measured().items():
        if name in METHODS:
            some = [runs[seed] for seed in SPLITS if seed in runs]
            columns[name] = {key: [run[key] for run in some] for key in some[0]}
    rows = []
    for name in sorted(columns, key=lambda name: np.mean(columns[name]["mae"])):
        column = columns[name]
        whose = "cofactor" if name in OURS else "peer" if name in PEERS else "baseline"
        errors = [mean_std(column[key]) if key in column else "–" for key in ("mae", "zero_one", "log_loss")]
        if len(column["mae"]) < len(SEEDS):
            name += f" ({len(column['mae'])} of {len(SEEDS)} splits)"
        rows.append([name, whose, *errors, f"{np.median(column['seconds']):.2f}", f"{max(column['mb']):.0f}"])
    header = ["method", "whose", "MAE", "zero-one", "log-loss", "s, fit and predict", "MB"]
    draw({name: (np.median(c["seconds"]), np.mean(c["mae"])) for name, c in columns.items()})
    publish(SECTION, table(header, rows) + "\n\n![MAE against seconds](accuracy-seconds.png)")


def draw(points: dict[str, tuple[float, float]]) -> None:
    """Draw MAE against seconds; baselines are lines."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 6), layout="constrained")
    for names, label, style in ((OURS, "cofactor", ("o", "#0072B2")), (PEERS, "other libraries", ("s", "#D55E00"))):
        x, y = np.array([points[name] for name in names if name in points]).T
        ax.scatter(x, y, marker=style[0], color=style[1], label=label, zorder=3)
    named = {name: at for name, at in points.items() if name not in BASELINES}
    ax.set(xscale="log", xlabel="seconds to fit and predict", ylabel="MAE of levels")
    ax.margins(x=0.2, y=0.06)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    put_labels(ax, named)
    figure.savefig(PAGES / "accuracy-seconds.png", dpi=120)
    plt.close(figure)


def put_labels(ax, points: dict[str, tuple[float, float]]) -> None:
    """Write names next to points, each at the first place where it covers no point and no other name."""
    ax.figure.canvas.draw()
    frame, centres = ax.get_window_extent(), ax.transData.transform(np.array(list(points.values())))
    places = [(dx, dy) for reach in (0, 9, 18, 28, 40) for dy in (reach, -reach) for dx in (8, -8)]
    taken: list = []
    for name, at in points.items():
        for dx, dy in places:
            text = ax.annotate(
                name,
                at,
                (dx, dy),
                textcoords="offset points",
                ha="left" if dx > 0 else "right",
                va="center",
                fontsize=8,
                arrowprops={"arrowstyle": "-", "lw": 0.5, "color": "0.6"} if abs(dy) > 10 else None,
            )
            box = text.get_window_extent().padded(2)
            inside = frame.x0 < box.x0 and box.x1 < frame.x1
            if inside and box.count_overlaps(taken) == 0 and not any(box.contains(*centre) for centre in centres):
                break
            text.remove()
        else:
            text = ax.annotate(name, at, (8, 0), textcoords="offset points", va="center", fontsize=8)
            box = text.get_window_extent()
        taken.append(box)


if __name__ == "__main__":
    command, names = (sys.argv[1:2] or ["all"])[0], sys.argv[2:]
    if command == "one":
        print(json.dumps(one(names[0], int(names[1]))))
    if command in ("measure", "all"):
        measure(names or list(METHODS))
    if command in ("table", "all"):
        write_table()
