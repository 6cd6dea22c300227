"""Accuracy on MovieLens against the published figures: `python benchmarks/accuracy.py [100k] [1m] [strong]`."""

import sys
import time

import numpy as np
from common import SEEDS, holdout_errors, mean_std, ml1m, ml100k, publish, table

from cofactor import published
from cofactor.evaluation import StrongGeneralization, WeakGeneralization
from cofactor.metrics import rating_report
from cofactor.ratings import ALS, HMF, MMMF, PMMMF, Ensemble

PAPER = {"alpha_bias": None}
PAPER_MMMF = {"alpha_bias": None, "alpha_thresholds": 0}


def with_seed(model, seed):
    return model.set_params(random_state=seed)


def published_errors(method: str) -> str:
    """MAE and RMSE of table 4.1 of Kumar's thesis."""
    found = [published.printed("thesis-4.1", method, metric) for metric in ("mae", "rmse")]
    return " / ".join(f"{one.mean:.4f}".lstrip("0") for one in found if one) or "–"


def published_nmae(protocol: str) -> str:
    """NMAE of HMF in table 3.19 of Kumar's thesis."""
    return str(published.printed("thesis-3.19", "HMF", "nmae", data="ml-1m", protocol=protocol))


def accuracy_100k() -> None:
    X, y = ml100k()
    trade_off = "training MAE .07–.09, no biases"
    cases = [
        (trade_off, "MMMF", MMMF(alpha=8.5, **PAPER_MMMF), "MAE ≤ .715"),
        (trade_off, "PMMMF", PMMMF(alpha=21, **PAPER), "≤ .705 and ≤ 1.010"),
        (trade_off, "ALS", ALS(100, alpha=4.0, **PAPER), "–"),
        ("alpha by validation, no biases", "HMF", HMF(**PAPER), "≤ .690"),
        ("alpha by validation, no biases", "MMMF", MMMF(**PAPER_MMMF), "≤ .690"),
        ("alpha by validation, no biases", "PMMMF", PMMMF(**PAPER), "–"),
        ("alpha by validation, with biases", "MMMF", MMMF(), "≤ .670"),
        ("alpha by validation, with biases", "HMF", HMF(), "–"),
        ("alpha by validation, with biases", "PMMMF", PMMMF(), "–"),
        ("alpha by validation, with biases", "ALS", ALS(), "–"),
        ("alpha by validation, with biases", "Ensemble of 8 MMMF", Ensemble(), "≤ .662"),
        ("alpha by validation, with biases", "Ensemble of 8 MMMF, bagging", Ensemble(method="bagging"), "≤ .662"),
    ]
    rows = []
    for setting, name, model, target in cases:
        runs = [holdout_errors(with_seed(model, seed), X, y, seed) for seed in SEEDS]
        column = {key: [run[key] for run in runs] for key in runs[0]}
        rows.append(
            [
                setting,
                name,
                published_errors(name) if setting == trade_off else "–",
                target,
                mean_std(column["mae"]),
                mean_std(column["rmse"]),
                mean_std(column["zero_one"]),
                mean_std(column["train_mae"], 3),
                f"{np.mean(column['seconds']):.1f}",
            ]
        )
        print(rows[-1], flush=True)
    header = ["setting", "method", "published MAE / RMSE", "asked", "MAE", "RMSE", "zero-one", "training MAE", "s"]
    publish("accuracy on MovieLens 100K", table(header, rows))


def accuracy_1m_weak() -> None:
    X, y = ml1m()
    rows = []
    for name, model, printed in [
        ("HMF, no biases", HMF(**PAPER), published_nmae("weak")),
        ("MMMF (defaults)", MMMF(), "–"),
    ]:
        runs: dict[str, list] = {}
        for seed in SEEDS:
            train, test = next(WeakGeneralization(1, random_state=seed).split(X, y))
            began = time.perf_counter()
            model = with_seed(model, seed).fit(X[train], y[train])
            seconds = time.perf_counter() - began
            alpha = getattr(model, "alphas_", None) or [model.alpha_]
            for decoding in ("first", "count") if isinstance(model, HMF) else ("",):
                if decoding:
                    model.decoding = decoding
                report = rating_report(y[test], model.predict(X[test]), model.scale_)
                runs.setdefault(decoding, []).append((report["nmae"], report["zero_one"], seconds, alpha))
                print(name, decoding, seed, runs[decoding][-1], flush=True)
            if isinstance(model, HMF):
                model.decoding = "first"
        words = {"first": ", first stage that says -1", "count": ", count of stages that say +1", "": ""}
        for decoding, found in runs.items():
            rows.append(
                [
                    name + words[decoding],
                    printed,
                    mean_std([r[0] for r in found]),
                    mean_std([r[1] for r in found]),
                    f"{np.mean([r[2] for r in found]):.0f}",
                    ", ".join(f"{a:.1f}" for a in found[0][3]),
                ]
            )
    header = ["method", "published NMAE", "NMAE", "zero-one", "s, choice of alpha included", "alpha (seed 0)"]
    publish("accuracy on MovieLens 1M, weak generalization", table(header, rows))


def accuracy_1m_strong() -> None:
    X, y = ml1m()
    rows = []
    for name, model, printed in [
        (
            "HMF, no biases, alpha of the weak protocol",
            HMF(alpha=[8.7, 17.8, 23.7, 23.7], **PAPER),
            published_nmae("strong"),
        ),
        ("MMMF, alpha = 27.4", MMMF(alpha=27.4), "–"),
    ]:
        runs = []
        for seed in SEEDS:
            split = StrongGeneralization(1040, 1, random_state=seed)
            train, known, test = next(split.split_fold_in(X, y))
            model = with_seed(model, seed).fit(X[train], y[train])
            began = time.perf_counter()
            folded = model.fold_in(X[known], y[known])
            seconds = time.perf_counter() - began
            runs.append((rating_report(y[test], folded.predict(X[test]), model.scale_)["nmae"], seconds))
            print(name, seed, runs[-1], flush=True)
        rows.append([name, printed, mean_std([r[0] for r in runs]), f"{np.mean([r[1] for r in runs]):.1f}"])
    header = ["method", "published NMAE", "NMAE (1,040 users)", "s to fold them in"]
    publish("accuracy on MovieLens 1M, strong generalization", table(header, rows))


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["100k", "1m", "strong"]
    for word, job in (("100k", accuracy_100k), ("1m", accuracy_1m_weak), ("strong", accuracy_1m_strong)):
        if word in chosen:
            job()
