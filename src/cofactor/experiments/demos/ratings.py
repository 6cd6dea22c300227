"""``cofactor demo``: models of ratings on MovieLens 100K, or on invented films."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cofactor.datasets import (
    DatasetNotFoundError,
    RatingDataset,
    available,
    fetch,
    load_ratings,
    make_movies,
    write_table,
)
from cofactor.evaluation import Holdout, Search
from cofactor.experiments.demos import TEXTS, Demo, Extent, Finding, Method, MethodResult, Picture, Reporter, Trial
from cofactor.metrics import confusion_matrix
from cofactor.pages import Html, Section, bar, highlights, paragraph, section, table
from cofactor.plots import (
    plot_confusion,
    plot_convergence,
    plot_recommendations,
    plot_reliability,
    plot_tradeoff,
)
from cofactor.plots.figures import new_axes, new_panels
from cofactor.ratings import ALS, HMF, MMMF, PMMMF, Ensemble, OrdinalProbit, RatingModel, Recommender
from cofactor.reports import demo as report_parts
from cofactor.reports.demo import Recommended
from cofactor.service import task_named
from cofactor.service.results import Loaded, Settings

#: The weight of the penalty of each model that is fitted without a search: about what a search finds on both data sets.
_ALPHAS = {"MMMF": 20.0, "HMF": 15.0, "ALS": 13.0}
#: Genres of which a new user likes the best known invented films, and does not, with the ratings.
_NEW_TASTE = {"Sci-Fi": (5.0, 5.0, 4.0), "Romance": (2.0, 1.0)}
_N_BINS = 5  #: ranges of the chance of a good rating, in which predictions are counted together
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
_MOVIES = "movies.csv"  #: the file of invented ratings
_FEW = 5  #: recommendations that are shown of a new user
_REASONS = 2  #: items that are named beside a recommendation


@dataclass(frozen=True)
class Advice:
    """Recommendations for one user, with what they liked, and what they thought of the recommended items."""

    user: Any
    n_ratings: int
    liked: list[tuple[str, float]]
    recommended: list[Recommended]
    milliseconds: float = 0.0


@dataclass(frozen=True)
class Chance:
    """Of test ratings whose predicted chance to be good lies in a range: how many, and how many were."""

    low: float
    high: float
    n: int
    predicted: float
    share: float


class RatingDemo(Demo):
    """Models of ratings, recommendations with reasons, a new user, and how sure predictions are."""

    name = task = "ratings"

    # ---------------------------------------------------------------- the comparison

    def data(self, extent: Extent, report: Reporter) -> tuple[list[Any], list[str]]:
        """Return MovieLens 100K, or invented films and the reason why."""
        here = next(status.path for status in available() if status.name == "ml-100k")
        if here is None and not extent.offline:
            report.say("MovieLens 100K is not on this machine; trying to download it (5 MB) ...")
        try:
            if not extent.offline:
                fetch("ml-100k", progress=extent.download)
            return [load_ratings("ml-100k", download=False)], []
        except DatasetNotFoundError as error:
            report.say(f"Invented films instead of MovieLens 100K: {error.missing}", soft=True)
            return [_invented(extent.seed)[0]], [error.missing]

    def alphas(self, data: Any, extent: Extent) -> list[float]:
        """Return the candidates for alpha: 10^(k/8)."""
        return [float(10 ** (k / 8)) for k in range(6, 13)]

    def methods(self, data: Any, extent: Extent) -> dict[str, Method]:
        """Return the models, in the full demo with a choice of alpha on a tenth of the training part."""
        common: dict[str, Any] = {"levels": data.scale, "random_state": extent.seed}
        if not extent.full:
            models: dict[str, Any] = {kind.__name__: kind(**common) for kind in (MMMF, HMF, ALS)}
            found = {name: Method(model.set_params(alpha=_ALPHAS[name])) for name, model in models.items()}
            return {"OrdinalProbit": Method(OrdinalProbit(**common)), **found}
        alphas = self.alphas(data, extent)
        given = common | {"metric": "mae", "validation": Holdout(0.1, 1, extent.seed)}
        found = {}
        kinds = (MMMF, HMF, PMMMF, ALS)
        for model in (OrdinalProbit(**common), Ensemble(MMMF(n_factors=8), **common), *(of(**common) for of in kinds)):
            grid = {name: alphas for name in model.get_params() if name.split("__")[-1] == "alpha"}
            if "estimator__alpha" in grid:
                grid.pop("alpha", None)
            found[type(model).__name__] = Method(Search(model, grid, **given))
        return found

    def parts(self, data: Any, extent: Extent) -> list[Any]:
        """Return four fifths to train, and one to test."""
        ((train, test),) = Holdout(0.2, 1, extent.seed).split(data.X)
        return [(train, None, test)]

    def heading(self, trial: Trial) -> str:
        """Return what the table asks, and of what data."""
        name = {"ml-100k": "MovieLens 100K", "synthetic movies": "invented films"}.get(trial.data.name, trial.data.name)
        return f"Which ratings will people give? {len(trial.methods)} models on {name}"

    def opening(self, trial: Trial) -> str:
        """Return what the data are, and how they are split."""
        data, (train, _, test) = trial.data, trial.parts[0]
        return f"{data.description}: {len(train):,} ratings to train, {len(test):,} to test."

    def extra(self, trial: Trial, name: str, fitted: Any) -> dict[str, Any]:
        """Return of a search alpha, the errors of all candidates, and the training error."""
        if not isinstance(fitted, Search):
            return {}
        tried = {next(iter(one.parameters.values()), None): float(one.value) for one in fitted.results_}
        best = next(iter(fitted.best_params_.values()), None)
        train = trial.parts[0][0]
        return {
            "alpha": best,
            "validation": {alpha: tried[alpha] for alpha in sorted(alpha for alpha in tried if alpha is not None)},
            "validation_mae": tried[best],
            "train_mae": -fitted.best_estimator_.score(trial.data.X[train], trial.data.y[train]),
        }

    def summary(self, row: MethodResult) -> str:
        """Return alpha, test error and time of a model that was searched for."""
        if not row.extra:
            return ""
        place = " (end of the grid)" if at_end(row) else ""
        alpha = "" if row.extra["alpha"] is None else f"alpha {row.extra['alpha']:.3g}{place}, "
        return f"✓ {row.name}: {alpha}test MAE {row.measures['']['mae']:.4f}, one fit {row.seconds:.2f} s"

    def baselines(self, trial: Trial) -> Iterator[MethodResult]:
        """Yield two rules without a model."""
        task = task_named(self.task)
        loaded = Loaded(trial.data.name, trial.data)
        for name, rule in task.baselines(loaded, Settings()).items():
            yield MethodResult(name, dict(task.measure(rule, loaded, trial.parts[0])))

    def notes(self, finding: Finding) -> list[str]:
        """Return how alpha was chosen, where it is at an end of the candidates, and what was published."""
        (trial,) = finding.trials
        if finding.extent.full:
            texts = [self.words["searched"].format(n_alphas=len(self.alphas(trial.data, finding.extent)))]
        else:
            alphas = ", ".join(f"{value:g} for {name}" for name, value in _ALPHAS.items())
            texts = [self.words["set"].format(alphas=alphas)]
        ends = [f"{row.name} ({row.extra['alpha']:.3g})" for row in trial.rows if at_end(row)]
        texts += [self.words["ends"].format(ends=", ".join(ends))] if ends else []
        return [*texts, *([self.words["published"]] if any(row.published for row in trial.rows) else [])]

    # ---------------------------------------------------------------- examples

    def show_examples(self, finding: Finding, report: Reporter, number: int) -> None:
        """Recommend to a known user and to a new one, and see how sure predictions are."""
        (trial,) = finding.trials
        model = fitted_recommender(trial.data, trial.parts[0][0], finding.extent, report)
        known, new = advise_known(model, trial), advise_new(model, trial, finding.extent.seed)
        sure = chances(model, trial)
        finding.examples = {"best": best_row(trial).name, "known_user": known, "new_user": new, "chances": sure}
        report.heading(f"{number}  Ten recommendations for user {known.user}")
        report.say(self.words["ranked"])
        report.say(f"They gave {known.n_ratings} ratings, and like {_titles(known.liked)}.\n")
        _show(known, report)
        report.heading(f"{number + 1}  A newcomer, without training again")
        report.say(f"Five ratings: {_titles(new.liked)}.")
        report.say(f"They are known after {new.milliseconds:.1f} ms. Recommended to them:\n")
        _show(new, report, _FEW)
        report.heading(f"{number + 2}  How sure is it?")
        report.say(f"{self._in_words(sure[-1], trial)}\n")
        report.table(["chance", "test ratings", "predicted", "came true"], [_cells(one) for one in sure])

    # ---------------------------------------------------------------- pictures

    def draw(self, finding: Finding, place: Path, report: Reporter) -> Iterator[Picture]:
        """Draw reliability and errors by level; in the full demo also lists, convergence, and errors along alpha."""
        (trial,), best = finding.trials, finding.examples["best"]
        data, (_, _, test) = trial.data, trial.parts[0]
        sure = next((row for row in trial.rows if hasattr(row.fitted, "predict_proba")), None)
        if sure is not None:
            predictions = (data.y[test], sure.fitted.predict_proba(data.X[test]), data.scale)
            ax = plot_reliability(*predictions, new_axes(None, 5.2, 4.4), n_bins=10, over="all", title=sure.name)
            yield self.drawn(ax, place / "reliability.png", name=sure.name)
        predicted = trial.row(best).fitted.predict(data.X[test])
        counts = confusion_matrix(data.y[test], predicted, data.scale)
        yield self.drawn(plot_confusion(counts, data.scale, title=best), place / "confusion.png", name=best)
        if finding.extent.full:
            known = finding.examples["known_user"]
            shown = [(one.title, one.p_interact, one.p_like) for one in known.recommended]
            names, interact, like = zip(*shown, strict=True)
            ax = plot_recommendations(names, interact, like, title=f"User {known.user}, recommended by Recommender")
            yield self.drawn(ax, place / "recommendations.png", user=known.user)
            grid = self.alphas(data, finding.extent)
            with report.steps(len(_SOLVERS) + len(_TRADEOFF) * len(grid)):
                yield self.drawn(_convergence(trial, report, 400), place / "convergence.png")
                ax = _tradeoff(trial, grid, report)
                yield self.drawn(ax, place / "tradeoff.png", low=grid[0], high=grid[-1])

    # ---------------------------------------------------------------- what is shown at the end

    def write_data(self, finding: Finding, place: Path) -> None:
        """Write invented ratings to a file, with titles in the place of items."""
        (trial,) = finding.trials
        if finding.missing:
            data = trial.data
            names = np.array([data.item_names[item] for item in data.X[:, 1].tolist()], dtype=object)
            columns = {"user": data.X[:, 0], "item": names, "rating": data.y, "time": data.timestamps}
            write_table(place / _MOVIES, columns)

    def next_steps(self, finding: Finding) -> list[tuple[str, str]]:
        """Return commands, each with what it does."""
        (trial,) = finding.trials
        source, titles = trial.data.name, f" --titles {trial.data.name}"
        if finding.missing:
            source, titles = (Path(finding.folder) / _MOVIES).as_posix(), ""
        return self.commands(source=source, titles=titles)

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
            "chances": [asdict(one) for one in finding.examples["chances"]],
            "rows": [_plain_row(self, row) for row in trial.rows],
            "n_alphas": len(self.alphas(data, finding.extent)) if finding.extent.full else 0,
            "best": finding.examples["best"],
            **{key: _plain_advice(finding.examples[key]) for key in ("known_user", "new_user")},
        }

    def lead(self, finding: Finding) -> list[Html]:
        """Return what the data are if they are made up, and the numbers that matter most."""
        (trial,) = finding.trials
        best, median = trial.row(finding.examples["best"]), trial.row("user median")
        data, mae = trial.data, best.measures[""]["mae"]
        numbers = [
            (f"{data.n_ratings:,}", f"ratings by {data.n_users:,} people of {data.n_items:,} films"),
            (f"{mae:.3f}", f"stars: mean error of {best.name} on new ratings"),
            (f"{1 - mae / median.measures['']['mae']:.0%}", "less than with each person’s median"),
            (f"{finding.examples['new_user'].milliseconds:.0f} ms", "until a newcomer is known"),
        ]
        return [*([paragraph(self.words["invented"])] if finding.missing else []), highlights(numbers)]

    def sections(self, finding: Finding) -> list[Html | Section]:
        """Return the recommendations, and how sure predictions are."""
        (trial,) = finding.trials
        known, new, sure = (finding.examples[key] for key in ("known_user", "new_user", "chances"))
        of_known = report_parts.recommendations(
            f"Out of {known.n_ratings} ratings, this user likes", known.liked, known.recommended
        )
        lead = f"Known after {new.milliseconds:.1f} ms, without training again, from five ratings"
        of_new = report_parts.recommendations(lead, new.liked, new.recommended[:_FEW])
        rows = [
            [range_, n, bar(predicted, one.predicted), bar(share, one.share)]
            for one in sure
            for range_, n, predicted, share in [_cells(one)]
        ]
        heads = ["chance of a good rating", "test ratings", "predicted", "came true"]
        return [
            section(f"Ten recommendations for user {known.user}", paragraph(self.words["ranked_page"]), of_known),
            section("A newcomer", of_new),
            section("How sure is it?", paragraph(self._in_words(sure[-1], trial)), table(heads, rows, name="Chances")),
        ]

    def _in_words(self, chance: Chance, trial: Trial) -> str:
        first = trial.data.scale[_good(trial.data.scale)]
        return self.words["sure"].format(first=first, **asdict(chance))


def at_end(row: MethodResult) -> bool:
    """Whether alpha is the first or the last candidate, so that a better one may lie beyond."""
    alpha, tried = row.extra.get("alpha"), row.extra.get("validation", {})
    return alpha is not None and alpha in (min(tried), max(tried))


def best_row(trial: Trial) -> MethodResult:
    """Return the model with the lowest error on the validation part; without one the first model."""
    models = [row for row in trial.rows if row.fitted is not None]
    return min(models, key=lambda row: row.extra.get("validation_mae", 0.0))


@cache
def _invented(seed: int) -> tuple[RatingDataset, Any]:
    return make_movies(random_state=seed)


# ---------------------------------------------------------------- how sure it is


def chances(model: Recommender, trial: Trial) -> list[Chance]:
    """Sort test ratings by the predicted chance that they are good, and count how many were."""
    data, (_, _, test) = trial.data, trial.parts[0]
    first = _good(data.scale)
    predicted = model.predict_proba(data.X[test])[:, first:].sum(axis=1)
    came_true = data.y[test] >= data.scale[first]
    edges = np.arange(_N_BINS + 1) / _N_BINS
    places = np.searchsorted(edges[1:-1], predicted, side="right")
    found = []
    for k, (low, high) in enumerate(pairwise(edges.tolist())):
        here = places == k
        if here.any():
            means = (float(of[here].mean()) for of in (predicted, came_true))
            found.append(Chance(low, high, int(here.sum()), *means))
    return found


def _good(scale: NDArray[np.float64]) -> int:
    """Return the place of the first rating of the upper quarter of the scale, from which on an item is liked."""
    return 3 * len(scale) // 4


def _cells(chance: Chance) -> list[str]:
    numbers = (f"{chance.predicted:.0%}", f"{chance.share:.0%}")
    return [f"{100 * chance.low:.0f} to {chance.high:.0%}", f"{chance.n:,}", *numbers]


# ---------------------------------------------------------------- recommendations


def fitted_recommender(data: Any, rows: Any, extent: Extent, report: Reporter) -> Recommender:
    """Return a recommender fitted to rows of data.

    Parameters
    ----------
    data : RatingDataset
    rows : slice or ndarray of int
    extent : Extent
    report : Reporter
        Shows that the fit begins.
    """
    with report.steps(1):
        report.step("fitting Recommender, which says who interacts with what, and likes it")
        return Recommender(random_state=extent.seed).fit(data.X[rows], data.y[rows])


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


def advise_new(model: Any, trial: Trial, seed: int) -> Advice:
    """Fold in a user who was not in training, from five ratings, and recommend ten items."""
    items, ratings = new_users_ratings(trial, seed)
    X = np.array([[-1, item] for item in items])
    model.fold_in(X, ratings)  # which may compile, once on a machine: that is not what a new user waits for
    began = time.perf_counter()
    folded = model.fold_in(X, ratings)
    milliseconds = 1000 * (time.perf_counter() - began)
    advice = _advise(folded, trial.data, -1, np.array(items), np.array(ratings), {})
    return Advice(advice.user, len(items), advice.liked, advice.recommended, milliseconds)


def new_users_ratings(trial: Trial, seed: int) -> tuple[list[Any], list[float]]:
    """Return five well-known items and ratings, of two tastes where titles or genres are known."""
    data, (train, _, _) = trial.data, trial.parts[0]
    newcomer = TEXTS["ratings"]["new-user"]
    known = {title: item for item, title in data.item_names.items()}
    train_items, counts = np.unique(data.X[train, 1], return_counts=True)
    found = {known[title]: rating for title, rating in newcomer.items() if title in known}
    if len(found) == len(newcomer) and np.isin(list(found), train_items).all():
        return list(found), list(found.values())
    popular = train_items[np.argsort(-counts, kind="stable")].tolist()
    if data.name == _invented(seed)[0].name:
        ids, films = _invented(seed)[1]
        for genre, ratings in _NEW_TASTE.items():
            alone = (films[genre] > 0) & (np.sum([films[other] for other in _NEW_TASTE], axis=0) == 1)
            rated = [item for item in popular if alone[item - ids[0]]]
            found |= dict(zip(rated, ratings, strict=False))
        if found:
            return list(found), list(found.values())
    high, low = float(data.scale[-1]), float(data.scale[0])
    return popular[:5], [high, high, high, low, low][: len(popular)]


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
    chances = np.column_stack([found.p_interact[0, : len(chosen)], found.p_like[0, : len(chosen)]])
    reasons = [[title(one) for one in some] for some in _liked_reasons(model, user, chosen)]
    rows = [
        Recommended(title(item), float(interact), float(like), float(rating), hidden.get(item), why)
        for item, (interact, like), rating, why in zip(chosen, chances, predicted, reasons, strict=True)
    ]
    return Advice(user, len(ratings), liked, rows, milliseconds)


def _liked_reasons(model: Any, user: Any, items: list[Any]) -> list[list[Any]]:
    """Return for each recommended item what of the user's own likes raises its score most, at most two."""
    if not items:
        return []
    found, scale = model.explain(user, items), model.scale_
    liked = found.own_ratings >= scale[_good(scale)]  # as `recommend` has it
    raising = found.raising(len(found.own_items))
    return [[found.own_items[k] for k in some if liked[k]][:_REASONS] for some in raising]


def _titles(liked: list[tuple[str, float]]) -> str:
    return ", ".join(f"{title} {rating:g}" for title, rating in liked)


def _show(advice: Advice, report: Reporter, n: int = 10) -> None:
    """Show the first recommendations, each with its reason below the title."""
    shown = advice.recommended[:n]
    held = any(one.held_out_rating is not None for one in shown)
    rows = []
    for rank, one in enumerate(shown, 1):
        title, interact, like, _ = one.cells()
        why = f"\nbecause you liked {one.because[0]}" if one.because else ""
        rated = ["" if one.held_out_rating is None else f"{one.held_out_rating:g}"] if held else []
        rows.append([str(rank), title + why, interact, like, *rated])
    heads = ["", "title", "P(interact)", "P(like)"]
    report.table([*heads, "rated"] if held else heads, rows)


def _plain_row(demo: Demo, row: MethodResult) -> dict[str, Any]:
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


def _convergence(trial: Trial, report: Reporter, max_iter: int) -> Any:
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
    return axes[0]


def _tradeoff(trial: Trial, grid: list[float], report: Reporter) -> Any:
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
    return plot_tradeoff(curves, error="MAE", title="Test error against training error along alpha")
