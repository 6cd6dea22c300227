"""``cofactor demo``: models of ratings on MovieLens 100K, beside Kumar's thesis."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cofactor.datasets import DatasetNotFoundError, available, fetch, load_ratings, make_ratings
from cofactor.evaluation import Holdout, Search
from cofactor.experiments.demos.base import Demo, Extent, Finding, Method, Picture, Reporter, Row, Trial
from cofactor.metrics import confusion_matrix
from cofactor.pages import Html, Section, highlights, paragraph, section, side_by_side
from cofactor.plots import plot_confusion, plot_convergence, plot_recommendations, plot_tradeoff, save_figure
from cofactor.plots.figures import new_panels
from cofactor.ratings import ALS, HMF, MMMF, PMMMF, Ensemble, OrdinalProbit, RatingModel, Recommender
from cofactor.reports import demo as report_parts
from cofactor.reports.demo import Recommended
from cofactor.tasks import task_named
from cofactor.tasks.plain import Loaded, Settings

__all__ = ["RatingDemo", "timed_recommender"]

_PROTOCOL = (
    "Each alpha is the one of {n_alphas} candidates with the lowest MAE on a tenth of the training part; the test part "
    "chooses nothing. Seconds are those of one fit at that alpha."
)
_PUBLISHED = (
    "Published, below each method: Kumar's thesis, table 4.1, for the same data and 80/20 splits, but with its own "
    "settings: alpha such that the training MAE is .07 to .09, and no biases. HMF has no figure for this protocol."
)
_SYNTHETIC = (
    "The synthetic ratings are one product of five factors, cut into levels: the case for which MMMF and ALS are made. "
    "HMF learns each boundary between levels by itself, from above and below alone, and its stages' errors add up."
)
#: Films for the new user, of several tastes, with what they might give them.
_NEW_USER = {
    "Star Wars (1977)": 5.0,
    "Raiders of the Lost Ark (1981)": 5.0,
    "Alien (1979)": 4.0,
    "Titanic (1997)": 2.0,
    "English Patient, The (1996)": 1.0,
}
#: Model, solver, and its name in the picture of convergence. ALS minimises an objective of its own.
_SOLVERS = (
    ("MMMF", "lbfgs", "L-BFGS"),
    ("MMMF", "cg", "conjugate gradients"),
    ("MMMF", "apg", "accelerated proximal gradients"),
    ("MMMF", "gd", "gradient descent"),
    ("ALS", "exact", "exact half steps"),
    ("ALS", "cg", "conjugate gradient half steps"),
)
_TRADEOFF = ("MMMF", "HMF", "PMMMF")
_REASONS = 2  #: items that are named beside a recommendation


@dataclass(frozen=True)
class Advice:
    """Recommendations for one user, with what they liked, and what they thought of the recommended items."""

    user: Any
    n_ratings: int
    liked: list[tuple[str, float]]
    recommended: list[Recommended]
    milliseconds: float = 0.0


class RatingDemo(Demo):
    """Six models of ratings, recommendations, a new user, and how solvers converge."""

    task, title = "ratings", "cofactor demo"
    metrics: ClassVar[Mapping[str, str]] = {"mae": "MAE", "rmse": "RMSE", "zero_one": "zero-one", "nmae": "NMAE"}
    tables = ("thesis-4.1",)
    digits = 4
    pictures = frozenset({"confusion.png", "convergence.png", "recommendations.png", "tradeoff.png"})

    # ---------------------------------------------------------------- the comparison

    def data(self, extent: Extent, report: Reporter) -> tuple[list[Any], list[str]]:
        """Return MovieLens 100K, or synthetic ratings and the reason why."""
        here = next(status.path for status in available() if status.name == "ml-100k")
        if here is None and not extent.offline:
            report.say("MovieLens 100K is not on this machine; trying to download it (5 MB) ...")
        try:
            if not extent.offline:
                fetch("ml-100k", progress=extent.download)
            return [load_ratings("ml-100k", download=False)], []
        except DatasetNotFoundError as error:
            report.say(f"Synthetic ratings instead: {error}")
            n_users, n_items = (900, 700) if extent.full else (300, 200)
            return [make_ratings(n_users, n_items, 5, density=0.15, random_state=extent.seed)], [str(error)]

    def alphas(self, data: Any, extent: Extent) -> list[float]:
        """Return the candidates for alpha: 10^(k/8)."""
        real = data.name != "synthetic"
        if not extent.full:
            exponents = [8, 10, 12] if real else [2, 5, 8]
        else:
            exponents = list(range(6, 13)) if real else list(range(-2, 11, 2))
        return [float(10 ** (k / 8)) for k in exponents]

    def methods(self, data: Any, extent: Extent) -> dict[str, Method]:
        """Return the models, with their defaults except alpha, which is chosen on a tenth of the training part."""
        common: dict[str, Any] = {"levels": data.scale, "random_state": extent.seed}
        models: list[RatingModel] = [MMMF(**common), HMF(**common), PMMMF(**common), ALS(**common)]
        if extent.full:
            models += [Ensemble(MMMF(n_factors=8), **common), OrdinalProbit(**common)]
        alphas = self.alphas(data, extent)
        grids = [{name: alphas for name in model.get_params() if name.split("__")[-1] == "alpha"} for model in models]
        for grid in grids:
            if "estimator__alpha" in grid:
                grid.pop("alpha", None)
        return {
            type(model).__name__: Method(
                Search(
                    model,
                    grid,
                    metric="mae",
                    validation=Holdout(0.1, 1, extent.seed),
                    levels=data.scale,
                    random_state=extent.seed,
                )
            )
            for model, grid in zip(models, grids, strict=True)
        }

    def parts(self, data: Any, extent: Extent) -> list[Any]:
        """Return four fifths to train, and one to test."""
        ((train, test),) = Holdout(0.2, 1, extent.seed).split(data.X)
        return [(train, None, test)]

    def opening(self, trial: Trial) -> str:
        """Return what the data are, and how they are split."""
        train, _, test = trial.parts[0]
        return f"{trial.data.description}.\n{len(train):,} ratings to train, {len(test):,} to test."

    def extra(self, trial: Trial, name: str, fitted: Any) -> dict[str, Any]:
        """Return alpha, the errors of all candidates, and the training error."""
        tried = {next(iter(one.parameters.values()), None): float(one.value) for one in fitted.results_}
        best = next(iter(fitted.best_params_.values()), None)
        train = trial.parts[0][0]
        return {
            "alpha": best,
            "validation": {alpha: tried[alpha] for alpha in sorted(alpha for alpha in tried if alpha is not None)},
            "validation_mae": tried[best],
            "train_mae": -fitted.best_estimator_.score(trial.data.X[train], trial.data.y[train]),
        }

    def summary(self, row: Row) -> str:
        """Return alpha, test error and time of a model."""
        place = " (end of the grid)" if at_end(row) else ""
        alpha = "" if row.extra["alpha"] is None else f"alpha {row.extra['alpha']:.3g}{place}, "
        return f"✓ {row.name}: {alpha}test MAE {row.measures['']['mae']:.4f}, one fit {row.seconds:.2f} s"

    def baselines(self, trial: Trial) -> Iterator[Row]:
        """Yield two rules without a model."""
        task = task_named(self.task)
        loaded = Loaded(trial.data.name, trial.data)
        for name, rule in task.baselines(loaded, Settings()).items():
            yield Row(name, dict(task.measure(rule, loaded, trial.parts[0])))

    def notes(self, finding: Finding) -> list[str]:
        """Return how alpha was chosen, where it is at an end of the candidates, and what was published."""
        (trial,) = finding.trials
        texts = [_PROTOCOL.format(n_alphas=len(self.alphas(trial.data, finding.extent)))]
        ends = [f"{row.name} ({row.extra['alpha']:.3g})" for row in trial.rows if at_end(row)]
        if ends:
            texts.append(
                f"The first or the last candidate was best, so that a better alpha may lie beyond: {', '.join(ends)}."
            )
        texts.append(_SYNTHETIC if trial.data.name == "synthetic" else _PUBLISHED)
        return texts

    # ---------------------------------------------------------------- examples

    def show_examples(self, finding: Finding, report: Reporter, number: int) -> None:
        """Recommend to a known user, and to a new one."""
        (trial,) = finding.trials
        model, seconds = timed_recommender(trial.data, trial.parts[0][0], finding.extent, report)
        known, new = advise_known(model, trial), advise_new(model, trial)
        finding.examples = {"best": best_row(trial).name, "known_user": known, "new_user": new, "seconds": seconds}
        report.heading(f"{number}  Ten recommendations for user {known.user}, by Recommender")
        report.say(
            "Ranked by how likely the user is to take a film next (P(take)) and to like it then (P(like), a rating in "
            f"the upper quarter of the scale): by predicted rating alone, films that nobody takes come first. Fitted "
            f"in {seconds:.1f} s."
        )
        report.say(f"Out of {known.n_ratings} ratings, this user likes: {_titles(known.liked)}.\n")
        _show(known, report)
        report.heading(f"{number + 1}  A new user, without training again")
        report.say(f"Five ratings: {_titles(new.liked)}.")
        report.say(f"Folded in after {new.milliseconds:.1f} ms, items held fixed. The recommendations:\n")
        _show(new, report)

    # ---------------------------------------------------------------- pictures

    def draw(self, finding: Finding, place: Path, report: Reporter) -> Iterator[Picture]:
        """Draw errors by level, convergence, and test error against training error."""
        (trial,), best = finding.trials, finding.examples["best"]
        _, _, test = trial.parts[0]
        predicted = trial.row(best).fitted.predict(trial.data.X[test])
        counts = confusion_matrix(trial.data.y[test], predicted, trial.data.scale)
        save_figure(plot_confusion(counts, trial.data.scale, title=best), place / "confusion.png")
        yield Picture("confusion.png", f"Errors by level: what {best} predicts for each true rating of the test part.")
        yield _draw_list(finding.examples["known_user"], place)
        grid = self.alphas(trial.data, finding.extent)
        with report.steps(len(_SOLVERS) + (len(_TRADEOFF) * len(grid) if finding.extent.full else 0)):
            yield _draw_convergence(trial, place, report, 400 if finding.extent.full else 50)
            if finding.extent.full:
                yield _draw_tradeoff(trial, grid, place, report)

    # ---------------------------------------------------------------- what is shown at the end

    def next_steps(self, finding: Finding) -> list[tuple[str, str]]:
        """Return three commands, each with what it does."""
        (trial,) = finding.trials
        if trial.data.name == "synthetic":
            source, titles, alpha = "ratings.csv", "", ""
        else:
            source, titles = trial.data.name, f" --titles {trial.data.name}"
            alpha = f" --alpha {trial.row('MMMF').extra['alpha']:.3g}"
        return [
            (
                f"cofactor fit {source} --out model.cofactor",
                "learn from ratings, of your own too, or from clicks without ratings",
            ),
            (f"cofactor recommend model.cofactor --user 1{titles}", "recommend ten items, --all for every user"),
            (f"cofactor evaluate {source} --model mmmf{alpha}", "measure on ratings held out, over three splits"),
        ]

    def as_json(self, finding: Finding) -> dict[str, Any]:
        """Return data, rows and recommendations."""
        (trial,) = finding.trials
        data, (train, _, test) = trial.data, trial.parts[0]
        return {
            **finding.base(),
            "data": {
                "name": data.name,
                "description": data.description,
                "users": data.n_users,
                "items": data.n_items,
                "ratings": data.n_ratings,
                "scale": data.scale.tolist(),
                "train": len(train),
                "test": len(test),
                "reason": "".join(finding.missing),
            },
            "rows": [_plain_row(self, row) for row in trial.rows],
            "n_alphas": len(self.alphas(data, finding.extent)),
            "best": finding.examples["best"],
            **{key: _plain_advice(finding.examples[key]) for key in ("known_user", "new_user")},
        }

    def lead(self, finding: Finding) -> list[Html]:
        """Return the numbers that matter most."""
        (trial,) = finding.trials
        best, median = trial.row(finding.examples["best"]), trial.row("user median")
        synthetic = [
            paragraph(f"These ratings are synthetic, because MovieLens 100K is not on this machine: {reason}")
            for reason in finding.missing
        ]
        numbers = [
            (f"{best.measures['']['mae']:.3f}", f"test MAE of {best.name}"),
            (f"{median.measures['']['mae']:.3f}", "test MAE of each user’s median"),
            (f"{best.seconds:.2f} s", f"to fit {best.name}"),
            (f"{finding.examples['new_user'].milliseconds:.1f} ms", "to fold in a new user"),
        ]
        return [*synthetic, highlights(numbers)]

    def sections(self, finding: Finding) -> list[Html | Section]:
        """Return the recommendations."""
        known, new = finding.examples["known_user"], finding.examples["new_user"]
        of_known = report_parts.recommendations(
            f"User {known.user}",
            f"Out of {known.n_ratings} ratings, this user likes",
            known.liked,
            known.recommended,
        )
        of_new = report_parts.recommendations(
            "A new user, without training again",
            f"Folded in after {new.milliseconds:.1f} ms, from five ratings",
            new.liked,
            new.recommended,
        )
        return [section("Recommendations", side_by_side(of_known, of_new))]


def at_end(row: Row) -> bool:
    """Whether alpha is the first or the last candidate, so that a better one may lie beyond."""
    alpha, tried = row.extra.get("alpha"), row.extra.get("validation", {})
    return alpha is not None and alpha in (min(tried), max(tried))


def best_row(trial: Trial) -> Row:
    """Return the model with the lowest error on the validation part."""
    return min((row for row in trial.rows if row.fitted is not None), key=lambda row: row.extra["validation_mae"])


# ---------------------------------------------------------------- recommendations


def timed_recommender(data: Any, rows: Any, extent: Extent, report: Reporter) -> tuple[Recommender, float]:
    """Return a recommender fitted to rows of data, and how long that took.

    Parameters
    ----------
    data : RatingDataset
    rows : slice or ndarray of int
    extent : Extent
    report : Reporter
        Shows that the fit begins.
    """
    sweeps: dict[str, Any] = {} if extent.full else {"n_sweeps": 80, "burn_in": 30}
    likes = OrdinalProbit(n_factors=10, levels=data.scale, **sweeps)
    with report.steps(1):
        report.step("fitting Recommender, which says who takes what, and likes it")
        began = time.perf_counter()
        model = Recommender(ratings=likes, random_state=extent.seed).fit(data.X[rows], data.y[rows])
    return model, time.perf_counter() - began


def advise_known(model: Any, trial: Trial) -> Advice:
    """Recommend ten items to the user with the median number of ratings."""
    data, (train, _, test) = trial.data, trial.parts[0]
    X, y = data.X[train], data.y[train]
    users, counts = np.unique(X[:, 0], return_counts=True)
    user = users[np.argsort(counts, kind="stable")[len(users) // 2]]
    pairs = zip(data.X[test].tolist(), data.y[test], strict=True)
    hidden = {item: float(rating) for (who, item), rating in pairs if who == user}
    mine = X[:, 0] == user
    return _advise(model, data, user, X[mine, 1], y[mine], hidden)


def advise_new(model: Any, trial: Trial) -> Advice:
    """Fold in a user who was not in training, from five ratings, and recommend ten items."""
    items, ratings = new_users_ratings(trial)
    X = np.array([[-1, item] for item in items])
    model.fold_in(X, ratings)  # which may compile, once on a machine: that is not what a new user waits for
    began = time.perf_counter()
    folded = model.fold_in(X, ratings)
    milliseconds = 1000 * (time.perf_counter() - began)
    advice = _advise(folded, trial.data, -1, np.array(items), np.array(ratings), {})
    return Advice(advice.user, len(items), advice.liked, advice.recommended, milliseconds)


def new_users_ratings(trial: Trial) -> tuple[list[Any], list[float]]:
    """Return five well-known items and ratings; the five with most ratings where titles are not known."""
    data, (train, _, _) = trial.data, trial.parts[0]
    known = {title: item for item, title in data.item_names.items()}
    train_items, counts = np.unique(data.X[train, 1], return_counts=True)
    found = {known[title]: rating for title, rating in _NEW_USER.items() if title in known}
    if len(found) == len(_NEW_USER) and np.isin(list(found), train_items).all():
        return list(found), list(found.values())
    popular = train_items[np.argsort(-counts, kind="stable")[: len(_NEW_USER)]].tolist()
    high, low = float(data.scale[-1]), float(data.scale[0])
    return popular, [high, high, high, low, low][: len(popular)]


def _advise(
    model: Any, data: Any, user: Any, items: NDArray[Any], ratings: NDArray[Any], hidden: Mapping[Any, float]
) -> Advice:
    def title(item: Any) -> str:
        return str(data.item_names.get(item, f"item {item}"))

    order = np.argsort(-ratings, kind="stable")
    liked = [(title(items[k].item()), float(ratings[k])) for k in order[:5]]
    began = time.perf_counter()
    found = model.recommend([user], 10)
    milliseconds = 1000 * (time.perf_counter() - began)
    chosen = [item for item in found.items[0].tolist() if item is not None]
    predicted = model.predict([(user, item) for item in chosen])
    chances = np.column_stack([found.p_take[0, : len(chosen)], found.p_like[0, : len(chosen)]])
    reasons = [[title(one) for one in some] for some in _liked_reasons(model, user, chosen)]
    rows = [
        Recommended(title(item), float(take), float(like), float(rating), hidden.get(item), why)
        for item, (take, like), rating, why in zip(chosen, chances, predicted, reasons, strict=True)
    ]
    return Advice(user, len(ratings), liked, rows, milliseconds)


def _liked_reasons(model: Any, user: Any, items: list[Any]) -> list[list[Any]]:
    """Return for each recommended item what of the user's own likes raises its score most, at most two."""
    if not items:
        return []
    found, scale = model.explain(user, items), model.scale_
    liked = found.own_ratings >= scale[3 * len(scale) // 4]  # as `recommend` has it
    raising = found.raising(len(found.own_items))
    return [[found.own_items[k] for k in some if liked[k]][:_REASONS] for some in raising]


def _titles(liked: list[tuple[str, float]]) -> str:
    return ", ".join(f"{title} {rating:g}" for title, rating in liked)


def _show(advice: Advice, report: Reporter) -> None:
    heads = ["", "title", "taken", "liked", "rating"]
    held = any(one.held_out_rating is not None for one in advice.recommended)
    rows = [[str(rank), *one.cells()] for rank, one in enumerate(advice.recommended, 1)]
    for row, one in zip(rows, advice.recommended, strict=True):
        row += ["" if one.held_out_rating is None else f"{one.held_out_rating:g}"] if held else []
    report.table([*heads, "held out"] if held else heads, rows)


def _plain_row(demo: Demo, row: Row) -> dict[str, Any]:
    extra = {"alpha": None, "train_mae": None, "validation_mae": None, **row.extra, "validation": []}
    tried = row.extra.get("validation", {})
    return {
        "name": row.name,
        "errors": {key: value for key, value in row.measures[""].items() if key in demo.metrics},
        "seconds": row.seconds,
        **extra,
        "validation": [{"alpha": alpha, "mae": mae} for alpha, mae in tried.items()],
        "alpha_at_end": at_end(row),
        "published": dict(row.published) or None,
    }


def _plain_advice(advice: Advice) -> dict[str, Any]:
    plain = asdict(advice)
    plain["user"] = advice.user.item() if hasattr(advice.user, "item") else advice.user
    plain["liked"] = [{"title": title, "rating": rating} for title, rating in advice.liked]
    return plain


# ---------------------------------------------------------------- pictures


def _with_alpha(trial: Trial, name: str, alpha: float, **params: Any) -> RatingModel:
    """Return a model fitted to the training part with that alpha."""
    model: RatingModel = clone(trial.methods[name].search.estimator).set_params(alpha=alpha, **params)
    train = trial.parts[0][0]
    return model.fit(trial.data.X[train], trial.data.y[train])


def _draw_list(advice: Advice, place: Path) -> Picture:
    """Draw what is recommended to a user, with both probabilities."""
    names = [one.title for one in advice.recommended]
    takes, likes = zip(*((one.p_take, one.p_like) for one in advice.recommended), strict=True)
    picture = plot_recommendations(names, takes, likes, title=f"User {advice.user}, recommended by Recommender")
    save_figure(picture, place / "recommendations.png")
    return Picture(
        "recommendations.png",
        f"Ten recommendations for user {advice.user}: how likely they are to take each film next, and to like it then. "
        "Films are ranked by the product of both.",
    )


def _draw_convergence(trial: Trial, place: Path, report: Reporter, max_iter: int) -> Picture:
    """Draw the objective of the solvers of each model from the same start, up to so many iterations."""
    panels: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for model, solver, name in _SOLVERS:
        report.step(f"{model} with {name}")
        with warnings.catch_warnings():
            # The slow ones are meant to be cut short here.
            warnings.simplefilter("ignore", ConvergenceWarning)
            alpha = trial.row(model).extra["alpha"]
            fitted: Any = _with_alpha(trial, model, alpha, solver=solver, tol=1e-7, max_iter=max_iter)
        panels.setdefault(model, {})[name] = (list(fitted.seconds_), list(fitted.history_))
    axes = new_panels(len(panels), width=11)
    for ax, (model, curves) in zip(axes, panels.items(), strict=True):
        alpha = trial.row(model).extra["alpha"]
        plot_convergence(curves, ax, gap=True, title=f"Convergence of {model}, alpha {alpha:.3g}")
    save_figure(axes[0], place / "convergence.png")
    return Picture(
        "convergence.png",
        "Convergence: how far the objective is above the lowest one that was reached, for the solvers of a model from "
        "the same start. ALS minimises squared errors, another objective than that of MMMF, by solvers of its own: the "
        "two panels cannot be compared in height.",
    )


def _draw_tradeoff(trial: Trial, grid: list[float], place: Path, report: Reporter) -> Picture:
    """Draw test error against training error along alpha; nothing is chosen by it."""
    data, (train, _, test) = trial.data, trial.parts[0]
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for name in _TRADEOFF:
        errors: tuple[list[float], list[float]] = ([], [])
        for alpha in grid:
            report.step(f"{name}: training and test error at alpha {alpha:.3g}")
            fitted = _with_alpha(trial, name, alpha)
            for values, rows in zip(errors, (train, test), strict=True):
                values.append(-fitted.score(data.X[rows], data.y[rows]))
        curves[name] = errors
    picture = plot_tradeoff(curves, error="MAE", title="Test error against training error along alpha")
    save_figure(picture, place / "tradeoff.png")
    return Picture(
        "tradeoff.png",
        f"Test error against training error along alpha, from {grid[0]:.3g} (left) to {grid[-1]:.3g} (right), as "
        "figure 3.12 of the thesis. Nothing is chosen by this picture.",
    )
