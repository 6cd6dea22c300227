"""Models with probabilities on the command line: what is written, ranked, measured and said of a fit."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest
from tests.estimators import set_defaults

import cofactor
from cofactor.cli.output import describe
from cofactor.datasets import RatingDataset
from cofactor.evaluation import evaluate
from cofactor.metrics import log_loss
from cofactor.ratings import OrdinalProbit
from cofactor.solvers import Progress

SWEEPS = ["--param", "n_sweeps=20", "--param", "burn_in=8", "--param", "n_implicit=3"]
SETTINGS = {"n_sweeps": 20, "burn_in": 8, "n_implicit": 3, "random_state": 0}


@pytest.fixture
def probit(fit_once, csv: Path, tmp_path: Path) -> Path:
    return fit_once(csv, "-m", "ordinal-probit", "--factors", 2, *SWEEPS, out=tmp_path / "probit.cofactor")


# --- fit ----------------------------------------------------------------------------------------------------


def test_fit_tells_sweeps_samples_and_memory(run, csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    out = tmp_path / "m.cofactor"
    arguments = ["fit", csv, "-m", "ordinal-probit", "--factors", 2, *SWEEPS, "--param", "n_chains=2", "-o", out]
    facts = run(*arguments, "--json").json
    fitted = cofactor.load(out)
    assert (facts["sweeps"], facts["burn_in"], facts["chains"], facts["samples"]) == (20, 8, 2, 24)
    assert facts["sample_bytes"] == sum(array.nbytes for array in fitted.samples_.values())
    assert facts["alpha"] is None
    assert facts["factors"] == fitted.n_factors_ == 2
    assert "iterations" not in facts
    _, *table = run(*arguments).out.splitlines()
    lines = dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in table)
    assert lines["factors"] == "2"
    assert lines["sweeps"] == "20 of 2 chains, the first 8 burn-in"
    assert lines["samples kept"] == f"24 ({facts['sample_bytes'] / 1e6:.1f} MB of memory)"
    assert not {"iterations", "alpha"} & set(lines)


@pytest.mark.parametrize(
    ("name", "few"), [("bpmf", ["n_sweeps=12", "burn_in=6"]), ("urp", ["max_iter=300", "alpha=0.3"])]
)
def test_models_with_probabilities_make_the_round_trip(
    run, csv: Path, tmp_path: Path, name: str, few: list[str]
) -> None:
    out = tmp_path / "m.cofactor"
    options = [part for text in few for part in ("--param", text)]
    outcome = run("fit", csv, "-m", name, "--factors", 2, *options, "-o", out)
    assert outcome.status == 0, outcome.err
    assert ("sweeps" in outcome.out) == (name == "bpmf")
    found = run("predict", out, csv, "--proba", "--json").json
    p = np.array([[row[f"p_{level}"] for level in range(1, 6)] for row in found])
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)
    best = run("recommend", out, "--user", 5, "-n", 3, "--at-least", 4, "--json").json
    assert len(best) == 3
    assert all(0 <= row["score"] <= 1 for row in best)


def test_live_progress_counts_sweeps(run, csv: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    OrdinalProbit(2, callback=seen.append, **SETTINGS).fit([(0, 0), (0, 1), (1, 0)], [1, 2, 2])
    name, detail = describe(seen[-1])
    assert name == "chain 1"
    assert detail.startswith("sweep 20 of 20, log-likelihood -")
    assert describe(Progress(1200, 3000, 5.0, 0.1, "member 2, chain 1")) == (
        "member 2", "sweep 1,200 of 3,000, log-likelihood -5",
    )  # fmt: skip


# --- predict and recommend ----------------------------------------------------------------------------------


def test_predict_writes_a_column_for_each_level(run, data: RatingDataset, csv: Path, probit: Path) -> None:
    found = run("predict", probit, csv, "--proba", "-o", "-").rows
    assert list(found[0]) == ["user", "item", "prediction", "score", "p_1", "p_2", "p_3", "p_4", "p_5"]
    direct = OrdinalProbit(2, levels=data.scale, **SETTINGS).fit(data.X, data.y)
    p = np.array([[float(row[f"p_{level}"]) for level in range(1, 6)] for row in found])
    assert np.array_equal(p, direct.predict_proba(data.X))
    assert [float(row["prediction"]) for row in found] == direct.predict(data.X).tolist()
    assert [float(row["score"]) for row in found] == direct.decision_function(data.X).tolist()
    assert list(run("predict", probit, csv, "-o", "-").rows[0]) == ["user", "item", "prediction", "score"]


def test_levels_that_are_no_whole_numbers_name_their_columns(run, tmp_path: Path) -> None:
    out = tmp_path / "m.cofactor"
    lines = "".join(f"{u},{i},{(1 + (u + i) % 4) / 2}\n" for u in range(8) for i in range(6)).encode()
    assert run("fit", "-", "-m", "ordinal-probit", *SWEEPS, "-o", out, stdin=lines).status == 0
    text = run("predict", out, "-", "--proba", stdin=b"1,2\n").out
    assert text.splitlines()[0] == "user,item,prediction,score,p_0.5,p_1,p_1.5,p_2"


@pytest.mark.parametrize(
    ("option", "keyword", "value"), [("--at-least", "at_least", 4), ("--quantile", "quantile", 0.9)]
)
def test_recommend_ranks_by_probability_or_quantile(run, probit: Path, option: str, keyword: str, value: float) -> None:
    found = run("recommend", probit, "--user", 5, "-n", 4, option, value, "--json").json
    items, scores = cofactor.load(probit).recommend([5], 4, **{keyword: value})
    assert [row["item"] for row in found] == items[0].tolist()
    assert [row["score"] for row in found] == scores[0].tolist()
    new = run("recommend", probit, "--ratings", "-", option, value, "--json", stdin=b"user,item,rating\nann,3,5\n")
    assert len(new.json) == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--at-least", 6], "--at-least 6 is above the highest rating, 5"),
        (["--at-least", "nan"], "--at-least nan"),
        (["--quantile", 1.5], "--quantile 1.5"),
        (["--quantile", 0.5, "--at-least", 4], "--at-least and --quantile both say how to rank: give one of them"),
    ],
)
def test_bad_rankings(run, probit: Path, options: list[object], message: str) -> None:
    assert run("recommend", probit, "--user", 5, *options).error.startswith(message)


def test_models_without_probabilities_say_which_have_them(run, csv: Path, model: Path) -> None:
    commands = {
        "--proba": ["predict", model, csv, "--proba"],
        "--at-least": ["recommend", model, "--all", "--at-least", 4],
        "--quantile": ["recommend", model, "--all", "--quantile", 0.9],
    }
    for option, arguments in commands.items():
        error = run(*arguments).error
        assert error.startswith(f"{option}: {model} is a model of MMMF, without probabilities; ")
        assert {"ordinal-probit", "bpmf", "urp"} <= set(error.replace(",", "").split())


# --- evaluate -----------------------------------------------------------------------------------------------


def test_evaluate_measures_probabilities(run, data: RatingDataset, csv: Path) -> None:
    arguments = ["evaluate", csv, "-m", "ordinal-probit", "--factors", 2, *SWEEPS, "--splits", 2]
    found = run(*arguments, "--json").json
    direct = evaluate(OrdinalProbit(2, levels=data.scale, **SETTINGS), data.X, data.y, "holdout", 2, scale=data.scale)
    for key in ("mae", "log_loss", "rps", "ece"):
        values = [run[key] for run in direct]
        assert [run[key] for run in found["results"]["OrdinalProbit"]] == values
        assert found["summary"]["OrdinalProbit"][key] == pytest.approx({"mean": fmean(values), "std": stdev(values)})
    frequent = found["results"]["most frequent"][0]["log_loss"]
    counts = np.unique(data.y, return_counts=True)[1] / len(data.y)
    assert frequent == pytest.approx(-(counts * np.log(counts)).sum(), abs=0.05)
    assert direct[0]["log_loss"] < frequent
    assert "log_loss" not in found["summary"]["user median"]


def test_table_of_probabilities(run, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_defaults(monkeypatch, OrdinalProbit, n_sweeps=8, burn_in=4)
    arguments = ["evaluate", csv, "-m", "ordinal-probit", "-m", "als", "--factors", 2, "--splits", 2]
    for width in (80, 140):
        monkeypatch.setenv("COLUMNS", str(width))
        outcome = run(*arguments, "--alpha", 3)
        lines = outcome.out.splitlines()
        assert max(map(len, lines)) <= width
        (heading,) = [line for line in lines if "MAE" in line]
        errors = ["MAE", "NMAE", "RMSE", "FRE", "zero-one"] if width > 100 else ["MAE", "RMSE", "zero-one"]
        assert heading.split() == ["model", *errors, "log-loss", "ECE", "seconds"]
        assert "…" not in outcome.out
        assert sum(line.count("–") for line in lines) == 4  # two models without
        assert (
            outcome.err == "cofactor: note: --alpha 3 does not concern OrdinalProbit, which has no penalty to weigh\n"
        )


def test_a_level_that_training_lacks_is_impossible() -> None:
    X = [(u, i) for u in range(6) for i in range(6)]
    y = [1.0 + (u + i) % 3 for u, i in X]
    y[-1] = 5.0
    given = type("Given", (), {"split": lambda self, X, y=None: [(np.arange(35), np.array([34, 35]))]})()
    (result,) = evaluate(OrdinalProbit(2, **SETTINGS), X, y, given, scale=[1, 2, 3, 4, 5])
    fitted = OrdinalProbit(2, **SETTINGS).fit(X[:35], y[:35])
    p = np.hstack([fitted.predict_proba(X[34:]), np.zeros((2, 2))])  # of 4 and 5 nothing was known
    assert result["log_loss"] == log_loss(y[34:], p, [1, 2, 3, 4, 5])
    assert result["log_loss"] > 18  # half of what an impossible one costs


# --- options that a model does not have ---------------------------------------------------------------------


def test_alpha_and_factors_of_models_without(run, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = run("fit", csv, "-m", "ordinal-probit", "--alpha", 3).error
    assert error.startswith("--alpha 3: OrdinalProbit has no penalty to weigh; leave the option out. With --param it ")
    assert "n_sweeps" in error
    assert "--alpha 3: " in run("evaluate", csv, "-m", "bpmf", "--alpha", 3).error
    assert "--alpha 3: OrdinalProbit has no" in run(
        "fit", csv, "-m", "ensemble", "--param", "estimator=ordinal-probit", "--alpha", 3
    ).error  # fmt: skip

    class Plain(OrdinalProbit):
        """Has no factors."""

        def __init__(self, n_sweeps=20, burn_in=8, levels=None, duplicates="error", random_state=None):
            super().__init__(2, levels=levels, random_state=random_state)

        def get_params(self, deep=True):
            return {"n_sweeps": 20, "random_state": None, "levels": None, "duplicates": "error"}

    monkeypatch.setattr("cofactor.ratings.MODELS", {"Plain": Plain})
    error = run("fit", csv, "-m", "plain", "--factors", 7).error
    assert error == "--factors 7: Plain has no number of factors; leave the option out. With --param it takes n_sweeps"


def test_more_factors_than_the_smaller_side_are_used_by_models_with_probabilities(run, csv: Path, tmp_path) -> None:
    out = tmp_path / "m.cofactor"
    outcome = run("fit", csv, "-m", "bpmf", "--factors", 45, "--param", "n_sweeps=3", "--param", "burn_in=1", "-o", out)
    assert (outcome.status, outcome.err) == (0, "")
    assert cofactor.load(out).samples_["V"].shape[2] == 45
