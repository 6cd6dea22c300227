"""Models with probabilities of levels: `python benchmarks/probabilistic.py [100k] [1m] [speed] [serving] [mixing]`."""

import resource
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from common import PAGES, SEEDS, mean_std, ml1m, ml100k, publish, split_80_20, table

from cofactor import published
from cofactor.evaluation import StrongGeneralization, WeakGeneralization
from cofactor.kernels.threads import thread_limit
from cofactor.metrics import probability_report, rating_report
from cofactor.ratings import OrdinalProbit, as_ratings
from cofactor.ratings.sampled import samples
from cofactor.text import without_zero

NO_MASK = {"implicit": None}
#: Numbers instead of those that the default chooses by the number of ratings.
FEWER = {"n_factors": 10, "n_implicit": 30}


def measured(model, X, y, train, test) -> dict[str, float]:
    """Fit, and return errors of levels, of the expected rating and of probabilities, and seconds."""
    began = time.perf_counter()
    model.fit(X[train], y[train])
    seconds = time.perf_counter() - began
    report = rating_report(y[test], model.predict(X[test]), model.scale_)
    report |= probability_report(y[test], model.predict_proba(X[test]), model.scale_)
    mean = model.decision_function(X[test])
    report["expected rmse"] = float(np.sqrt(np.mean((mean - y[test]) ** 2)))
    report["seconds"] = seconds
    return report


def accuracy_100k() -> None:
    X, y = ml100k()
    rows = []
    for name, params, asked in [
        ("OrdinalProbit, defaults", {}, "MAE ≤ .640, RMSE ≤ .880, log-loss ≤ 1.185, ECE ≤ .02"),
        ("OrdinalProbit, not told who rated what", NO_MASK, "MAE ≤ .651"),
        ("OrdinalProbit, d = 10, 30 singular vectors", FEWER, "–"),
    ]:
        runs = [
            measured(OrdinalProbit(random_state=seed, **params), X, y, *split_80_20(len(y), seed)) for seed in SEEDS
        ]
        column = {key: [found[key] for found in runs] for key in runs[0]}
        keys = ("mae", "zero_one", "expected rmse", "log_loss", "ece")
        rows.append([name, asked, *(mean_std(column[key]) for key in keys), f"{np.mean(column['seconds']):.1f}"])
        print(rows[-1], flush=True)
    header = ["model", "asked", "MAE", "zero-one", "RMSE of the expected rating", "log-loss", "ECE", "s"]
    publish("probabilities on MovieLens 100K", table(header, rows))


def accuracy_1m() -> None:
    X, y = ml1m()
    rows = []
    for name, params in [("OrdinalProbit, defaults", {})]:
        found: dict[str, list[float]] = {key: [] for key in ("all", "weak", "strong", "s", "fold s")}
        for seed in SEEDS:
            train, test = next(WeakGeneralization(1, random_state=seed).split(X, y))
            model = OrdinalProbit(random_state=seed, **params)
            report = measured(model, X, y, train, test)
            found["all"].append(report["nmae"])
            found["s"].append(report["seconds"])

            left, known, strong = next(StrongGeneralization(1040, 1, random_state=seed).split_fold_in(X, y))
            inner, weak = next(WeakGeneralization(1, random_state=seed).split(X[left], y[left]))
            found["weak"].append(measured(model, X, y, left[inner], left[weak])["nmae"])
            began = time.perf_counter()
            folded = model.fold_in(X[known], y[known])
            found["fold s"].append(time.perf_counter() - began)
            found["strong"].append(rating_report(y[strong], folded.predict(X[strong]), model.scale_)["nmae"])
            print(name, seed, {key: values[-1] for key, values in found.items()}, flush=True)
        rows.append(
            [
                name,
                *(mean_std(found[key]) for key in ("all", "weak", "strong")),
                *(f"{np.mean(found[key]):.1f}" for key in ("s", "fold s")),
            ]
        )
    rows.append(["asked", "≤ .387", "≤ .376", "≤ .369", "≤ 180", "–"])
    weak = published.printed("thesis-3.19", "HMF", "nmae", data="ml-1m", protocol="weak")
    strong = published.value("thesis-3.19", "GPLVM", "nmae", data="ml-1m", protocol="strong")
    rows.append(
        ["published: HMF; the best of table 3.19", "–", str(weak), f"{without_zero(strong, 4)} (GP-LVM)", "–", "–"]
    )
    header = [
        "model",
        "NMAE, one held out of each of 6,040",
        "weak, 5,000 users",
        "strong, 1,040 users",
        "s, first fit",
        "s to fold in 1,040",
    ]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    publish(
        "probabilities on MovieLens 1M", table(header, rows) + f"\n\nPeak memory of the whole script: {peak:.2f} GiB."
    )


_AT_A_TIME = 8


def seconds_per_sweep(ratings, d: int) -> list[float]:
    """Return the median time of a sweep of the default model with one thread and with two, in turn.

    Each takes a few sweeps at a time, of which the first do not count: the second core's caches are cold then, and its
    thread sleeps. All that count are burn-in.
    """
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(9):
        for threads, found in times.items():
            ends: list[float] = []
            model = OrdinalProbit(d, n_sweeps=_AT_A_TIME + 4, burn_in=_AT_A_TIME + 3, random_state=0)
            model.set_params(callback=lambda info, ends=ends: ends.append(time.perf_counter()))
            with thread_limit(threads):
                model.fit(ratings)
            found.append((ends[_AT_A_TIME + 2] - ends[2]) / _AT_A_TIME)
    return [float(np.median(found)) for found in times.values()]


_MEMORY = """
import time
import numpy as np
from cofactor.datasets import load_ratings
from cofactor.evaluation import WeakGeneralization
from cofactor.metrics import rating_report
from cofactor.ratings import OrdinalProbit
pairs = [(u, i) for u in range(9) for i in range(9)]
OrdinalProbit(20, n_sweeps=3, burn_in=1, random_state=0).fit(pairs, [1 + k % 5 for k in range(81)]).predict(pairs)
def now(name):
    return int(next(line.split()[1] for line in open('/proc/self/status') if line.startswith(name)))
data = load_ratings('ml-1m')
train, test = next(WeakGeneralization(1, random_state=0).split(data.X, data.y))
loaded = now('VmRSS')
open('/proc/self/clear_refs', 'w').write('5')  # the high-water mark starts afresh
began = time.perf_counter()
model = OrdinalProbit(20, n_implicit=60, n_sweeps=200, burn_in=70, random_state=0).fit(data.X[train], data.y[train])
predicted = model.predict(data.X[test])
seconds = time.perf_counter() - began
nmae = rating_report(data.y[test], predicted, model.scale_)['nmae']
print(seconds, (now('VmHWM') - loaded) / 1024, now('VmHWM') / 1024, nmae)
"""


def speed() -> None:
    X, y = ml1m()
    order = np.random.default_rng(0).permutation(len(y))
    rows, sizes, widths = [], (62_500, 125_000, 250_000, 500_000, 1_000_000), (5, 10, 20, 40, 80)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    times = {}
    for size in sizes:
        part = as_ratings(X[order[:size]], y[order[:size]])
        times[size] = seconds_per_sweep(part, 10)
        rows.append(
            [
                f"{size:,} ratings, d = 10",
                *(f"{1e3 * t:.1f}" for t in times[size]),
                f"{times[size][0] / times[size][1]:.2f}",
            ]
        )
        print(rows[-1], flush=True)
    axes[0].loglog(sizes, [1e3 * times[size][1] for size in sizes], "o-", label="measured, two threads")
    axes[0].loglog(sizes, [1e3 * times[sizes[-1]][1] * size / sizes[-1] for size in sizes], "k:", label="linear")
    axes[0].set(xlabel="ratings", ylabel="ms per sweep", title="d = 10")
    small = seconds_per_sweep(as_ratings(*ml100k()), 10)
    rows.append(["MovieLens 100K, d = 10", *(f"{1e3 * t:.1f}" for t in small), f"{small[0] / small[1]:.2f}"])
    whole = as_ratings(X, y)
    for d in widths:
        times[d] = seconds_per_sweep(whole, d)
        rows.append(
            [f"1,000,209 ratings, d = {d}", *(f"{1e3 * t:.1f}" for t in times[d]), f"{times[d][0] / times[d][1]:.2f}"]
        )
        print(rows[-1], flush=True)
    axes[1].loglog(widths, [1e3 * times[d][1] for d in widths], "o-", label="measured, two threads")
    axes[1].loglog(
        widths, [1e3 * times[widths[-1]][1] * (d / widths[-1]) ** 2 for d in widths], "k:", label="quadratic"
    )
    axes[1].set(xlabel="factors d", ylabel="ms per sweep", title="1,000,209 ratings")
    for ax in axes:
        ax.legend(frameon=False)
    figure.savefig(PAGES / "sweeps.png", dpi=120)

    X, y = ml100k()
    train, _ = split_80_20(len(y), 0)
    OrdinalProbit(n_sweeps=3, burn_in=1, random_state=0).fit(X[train], y[train])
    began = time.perf_counter()
    model = OrdinalProbit(random_state=0).fit(X[train], y[train])
    rows.append(["**defaults, ML-100K (asked ≤ 5 s)**", "–", f"{1e3 * (time.perf_counter() - began):,.0f}", "–"])
    fold = [("new", item) for item in X[:20, 1]]
    model.fold_in(fold, y[:20]).recommend(["new"], 10)
    began = time.perf_counter()
    for _ in range(20):
        model.fold_in(fold, y[:20]).recommend(["new"], 10)
    rows.append(
        [
            "**fold-in of a user with 20 ratings, ten recommendations (asked ≤ 10 ms)**",
            "–",
            f"{1e3 * (time.perf_counter() - began) / 20:.1f}",
            "–",
        ]
    )
    out = subprocess.run([sys.executable, "-c", _MEMORY], capture_output=True, text=True, check=True).stdout
    seconds, above, peak, nmae = map(float, out.split())
    what = (
        f"**ML-1M, d = 20, 200 sweeps, fit and predict, NMAE {nmae:.4f} (asked ≤ 50 s, ≤ 1 GB): "
        f"{above:,.0f} MB above the loaded data, {peak:,.0f} MB in all**"
    )
    rows.append([what, "–", f"{1e3 * seconds:,.0f}", "–"])
    text = table(["what", "ms, one thread", "ms, two threads", "ratio"], rows)
    publish("speed of the sampler", text + "\n\n![ms per sweep against ratings and factors](sweeps.png)")


def cpu_seconds(job, *arguments) -> tuple[float, tuple]:
    began = time.process_time()
    found = job(*arguments)
    return time.process_time() - began, found


def sparse_catalogue() -> tuple[np.ndarray, np.ndarray]:
    """Ratings of 1,000 users and 80,000 items, each of which has one."""
    rng, m = np.random.default_rng(0), 80_000
    X = np.unique(np.column_stack([rng.integers(0, 1000, 5 * m), np.resize(np.arange(m), 5 * m)]), axis=0)
    return X, np.clip(np.rint(rng.normal(3, 1, 1000)[X[:, 0]] + rng.normal(0, 1, len(X))), 1, 5)


def ndcg(found: np.ndarray, liked: list[dict]) -> float:
    """Mean NDCG@10 of the items found, over users who have an item that they like."""
    discounts = 1 / np.log2(np.arange(2, 12))
    values = []
    for row, gains in zip(found.tolist(), liked, strict=True):
        if gains:
            best = np.sort(list(gains.values()))[::-1][:10]
            values.append(np.dot([gains.get(item, 0) for item in row], discounts) / (best @ discounts[: len(best)]))
    return float(np.mean(values))


def serving() -> None:
    """Ten items for every user: what it costs and what is lost by looking at all items with some of the samples."""
    costs, losses = [], []
    few = {"implicit": None, "n_sweeps": 20, "burn_in": 10}
    for name, data, params, n_users in (
        ("MovieLens 100K", ml100k, {}, 943),
        ("MovieLens 1M", ml1m, {}, 500),
        ("a sparse catalogue", sparse_catalogue, few, 50),
    ):
        X, y = data()
        train, test = split_80_20(len(y), 0)
        model = OrdinalProbit(random_state=0, **params).fit(X[train], y[train])
        everyone, m, S = model.users_.ids, len(model.items_), len(model.samples_["U"])
        users = np.random.default_rng(0).permutation(everyone)[:n_users]
        model.recommend(users[:2])
        whole, (best, values) = cpu_seconds(model.recommend, users, m)  # all items by all samples
        seconds, _ = cpu_seconds(model.recommend, everyone)
        tracemalloc.start()
        model.recommend(everyone)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        whole *= len(everyone) / n_users
        what = f"{name}: {len(everyone):,} users, {m:,} items, {S} samples"
        costs.append([what, f"{whole:.1f}", f"{seconds:.2f}", f"{whole / seconds:.0f}", f"{peak / 1e6:.0f}"])
        if params:
            continue
        place = {user: k for k, user in enumerate(users.tolist())}
        liked: list[dict] = [{} for _ in place]
        for (user, item), rating in zip(X[test].tolist(), y[test].tolist(), strict=True):
            if rating >= 4 and user in place:
                liked[place[user]][item] = 2**rating - 1
        losses.append([name, "all", "100.00 %", "0", f"{ndcg(best[:, :10], liked):.4f}"])
        usual = samples.N_COARSE
        for n in (10, 20, 50, 100):
            samples.N_COARSE = n
            found, scores = model.recommend(users)
            same = np.mean([len({*a} & {*b}) / 10 for a, b in zip(found.tolist(), best[:, :10].tolist(), strict=True)])
            lost = np.mean(values[:, :10] - scores)
            losses.append([name, n, f"{100 * same:.2f} %", f"{lost:.1g}", f"{ndcg(found, liked):.4f}"])
        samples.N_COARSE = usual
    header = ["ten items for each of", "all items by all samples, s", "recommend, s", "ratio", "MB"]
    text = table(header, costs) + "\n\n"
    header = ["data", "samples that look at all items", "items as by all samples", "expected rating lost", "NDCG@10"]
    publish("serving by samples", text + table(header, losses))


class Unmoved(OrdinalProbit):
    """The same sampler without moves along which the likelihood stays as it is."""

    def _prepare(self, given):
        plan = super()._prepare(given)

        def posterior(users):
            found = plan.posterior(users)
            for name in ("offsets", "user shift", "item shift", "scales"):
                del found.steps[name]
            return found

        return replace(plan, posterior=posterior)


def mixing() -> None:
    """How well four chains agree, and how many independent draws a second of one thread is worth."""
    X, y = ml100k()
    train, _ = split_80_20(len(y), 0)
    rows = []
    for name, kind in (("without moves", Unmoved), ("with moves", OrdinalProbit)):
        kind(n_sweeps=3, burn_in=1, random_state=0).fit(X[train], y[train])
        model = kind(n_chains=4, n_sweeps=900, random_state=0, n_jobs=1)
        with thread_limit(1):
            seconds, _ = cpu_seconds(model.fit, X[train], y[train])
        for quantity, mean, sd, r_hat, ess in model.diagnostics().rows():
            numbers = [f"{mean:.4g}", f"{sd:.2g}", f"{r_hat:.2f}", f"{ess:.0f}", f"{ess / seconds:.2g}"]
            rows.append([f"{name}, {seconds:.0f} s", quantity, *numbers])
    header = ["sampler", "quantity", "mean", "sd", "R-hat", "effective draws", "a second"]
    publish("mixing of the sampler", table(header, rows))


if __name__ == "__main__":
    jobs = {"100k": accuracy_100k, "1m": accuracy_1m, "speed": speed, "serving": serving, "mixing": mixing}
    chosen = sys.argv[1:] or list(jobs)
    for word, job in jobs.items():
        if word in chosen:
            job()
