"""evaluate: the same numbers as the library, beside baselines worked out by hand."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import fmean, median_low, mode, stdev

import numpy as np
import pytest

from cofactor.cli.output import in_splits
from cofactor.datasets import RatingDataset
from cofactor.evaluation import Holdout, evaluate
from cofactor.ratings import ALS, MMMF

OPTIONS = ["--alpha", 3, "--factors", 4, "--json"]


@pytest.mark.parametrize("protocol", ["weak", "strong", "kfold"])
def test_results_equal_the_library(run, data: RatingDataset, csv: Path, protocol: str) -> None:
    outcome = run("evaluate", csv, "-m", "mmmf", "-m", "als", "-p", protocol, "--splits", 2, "--seed", 5, *OPTIONS)
    found = outcome.json
    assert list(found["results"]) == ["MMMF", "ALS", "most frequent", "user median"]
    for name, kind in (("MMMF", MMMF), ("ALS", ALS)):
        model = kind(4, 3.0, levels=data.scale, random_state=5)
        direct = evaluate(model, data.X, data.y, protocol, 2, 5, scale=data.scale)
        for key in ("mae", "nmae", "rmse", "fre", "zero_one"):
            values = [run[key] for run in direct]
            assert [run[key] for run in found["results"][name]] == values
            assert found["summary"][name][key] == pytest.approx({"mean": fmean(values), "std": stdev(values)})


def test_baselines(run, data: RatingDataset, csv: Path) -> None:
    found = run("evaluate", csv, "-m", "als", "--splits", 1, *OPTIONS).json["results"]
    ((train, test),) = Holdout(0.2, 1, 0).split(data.X)
    y, truth = data.y[train].tolist(), data.y[test]
    assert found["most frequent"][0]["mae"] == np.abs(truth - mode(sorted(y))).mean()
    of_user: dict[int, list[float]] = {}
    for u, rating in zip(data.X[train, 0].tolist(), y, strict=True):
        of_user.setdefault(u, []).append(rating)
    guesses = [median_low(of_user[u]) for u in data.X[test, 0].tolist()]
    assert found["user median"][0]["zero_one"] == np.mean(truth != guesses)


def test_table(run, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for width, rows in ((80, 2), (140, 1)):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = run("evaluate", csv, "-m", "als", *OPTIONS[:-1], "--splits", 2).out.splitlines()
        assert max(map(len, lines)) <= width
        assert lines[0].rstrip() == "ratings.csv: holdout, 2 splits, seed 0"
        assert sum("±" in line for line in lines) == 3
        assert len([line for line in lines if line.strip()]) == 3 + 3 * rows


def test_the_table_tells_what_was_chosen(run, csv: Path) -> None:
    options = [csv, "-m", "als", "--factors", 2, "--splits", 2]
    found = run("evaluate", *options, "--json").json
    alphas = [run["parameters"]["alpha"] for run in found["results"]["ALS"]]
    assert found["chosen"] == {"ALS": {"alpha": alphas}}
    (line,) = (line for line in run("evaluate", *options).out.splitlines() if line.startswith("chosen"))
    assert line == f"chosen by ALS: alpha {in_splits(alphas)}"


def test_what_a_first_fit_compiles_is_compiled_before(run, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    class Slow(ALS):
        """Interactions a second whenever it is fitted for the first time."""

        def fit(self, X, y=None):
            if not sizes:
                time.sleep(1)
            sizes.append(len(X))
            return super().fit(X, y)

    monkeypatch.setattr("cofactor.ratings.MODELS", {"ALS": Slow})
    found = run("evaluate", csv, "-m", "als", "--splits", 1, *OPTIONS).json
    assert sizes == [200, 768]
    assert found["results"]["Slow"][0]["fit_seconds"] < 0.9


def test_one_user_cannot_be_split_by_users(run) -> None:
    lines = b"user,item,rating\n1,1,2\n1,2,3\n1,3,4\n"
    error = run("evaluate", "-", "-p", "strong", "--alpha", 1, stdin=lines).error
    assert error == "X has one user only, but some must be held out (test_users) and some remain for training"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--protocol", "loo"], "--protocol loo is not known; expected one of holdout, weak, strong, kfold"),
        (["--protocol", "kfold", "--splits", 1], "--splits (or --folds) 1: expected a whole number from 2 to 960, the"),
        (["--splits", 0], "--splits 0: expected a number of at least 1"),
        (["--test-size", 1], "must lie between 0 and 1"),
        (["--protocol", "strong", "--test-users", 0.999], "test_users must be a part between 0 and 1"),
        (["--model", "als", "--model", "svd"], "--model svd: not a known model"),
        (["--model", "als", "--model", "mmmf", "--model", "als"], "--model als: ALS is given twice; give it once"),
    ],
)
def test_bad_options(run, csv: Path, options: list[object], message: str) -> None:
    assert message in run("evaluate", csv, *options).error
