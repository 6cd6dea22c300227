"""``cofactor demo labels``: models that tag texts, what one says of new texts, why, and how sure it is.

In full: every label method against binary relevance, with a plain cut and a learned one, beside published figures.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from cofactor.datasets import DatasetNotFoundError, LabelDataset, load_labels, make_articles, write_table
from cofactor.evaluation import Search
from cofactor.experiments.demos import TEXTS, Demo, Extent, Finding, Method, MethodResult, Picture, Reporter, Trial
from cofactor.labels import MNMTF, MODELS, MLkNN
from cofactor.labels.data import as_labels
from cofactor.labels.decisions import micro_f1_curve
from cofactor.pages import (
    Html,
    Section,
    bar,
    block,
    good,
    highlights,
    measured,
    paragraph,
    scrolling,
    section,
    strong,
    table,
)
from cofactor.plots import (
    plot_cooccurrence,
    plot_group_sparsity,
    plot_label_reliability,
    plot_label_tree,
    plot_threshold_curves,
    prediction_table,
)
from cofactor.plots.figures import new_panels
from cofactor.service import task_named
from cofactor.service.baselines import LabelFrequencies
from cofactor.service.results import Loaded
from cofactor.text import plural

_SHOWN, _DEFAULT = ("LabelRidge", "OMF", "PLST", "MLkNN"), "LabelRidge"
_ONE_BY_ONE, _FREQUENT = "binary relevance", "frequent tags"
_KINDS = {"articles": "made-up news", "medical": "radiology reports"}
_N_ARTICLES, _N_FOLDS = 1200, {"articles": 3, "medical": 5}
_N_TEXTS, _N_WORDS = 3, 3  #: texts to show, and words to name for a tag
_LENGTHS = {"articles": (40, 80), "medical": (8, 30)}  #: words of such a text
_CUTS = (0.9, 0.7, 0.5)
_BANDS = ((100, None), (30, 99), (10, 29), (1, 9))  #: training texts of a tag
_NAMED = 40  #: tags in the picture of those that go together


@dataclass(frozen=True, eq=False, repr=False)
class Corpus(LabelDataset):
    """Tagged texts, as people read them; and the tags that texts should have, where that is known."""

    texts: Any = None  #: array of shape (n,)
    about: csr_array | None = None

    def take(self, rows: NDArray) -> Self:
        """Select texts."""
        taken: Any = super().take(rows)
        kept: Self = replace(taken, texts=self.texts[rows], about=None if self.about is None else self.about[rows])
        return kept


def made_up(n: int, seed: int) -> Corpus:
    """Return articles as a corpus."""
    data, articles = make_articles(n, random_state=seed)
    column = {name: k for k, name in enumerate(data.label_names)}
    cells = [(row, column[tag]) for row, tags in enumerate(articles.about) for tag in tags if tag in column]
    about = csr_array((np.ones(len(cells), np.int32), tuple(np.array(cells).T)), data.Y.shape)
    return _corpus(data, texts=np.array(articles.texts, dtype=object), about=about)


def _medical() -> Corpus:
    """Return the radiology reports, with words for codes, and the words of each in alphabetical order."""
    data = load_labels("medical")
    names = tuple(TEXTS["labels"]["meanings"][name.split("-", 2)[2]] for name in data.label_names)
    words = np.array([name.strip(".,;:") for name in data.feature_names], dtype=object)
    texts = [" ".join(word for word in words[data.X[[k]].indices] if word.isalpha()) for k in range(len(data))]
    return _corpus(replace(data, label_names=names), texts=np.array(texts, dtype=object))


def _corpus(data: LabelDataset, **more: Any) -> Corpus:
    return Corpus(**{one.name: getattr(data, one.name) for one in fields(LabelDataset)}, **more)


def write_articles(data: Corpus, parts: Sequence[NDArray[Any]], place: Path) -> None:
    """Write training and test texts of the articles as tables."""
    for name, rows in zip(("articles.csv", "new-articles.csv"), parts, strict=True):
        some = data.take(rows)
        tags = [", ".join(data.label_names[k] for k in some.Y[[row]].indices) for row in range(len(some))]
        write_table(place / name, {"text": some.texts, "tags": np.array(tags, dtype=object)})


@dataclass(frozen=True)
class PredictedTag:
    """A tag of a text: its probability, whether it is right, and the words that raise it."""

    tag: str
    probability: float
    verdict: str
    because: tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """A text of the test part, and what the model says of it."""

    text: str
    said: tuple[PredictedTag, ...]


@dataclass(frozen=True)
class Sure:
    """What comes of setting all tags of at least a probability."""

    name: str
    per_text: float
    right: float
    found: float


@dataclass(frozen=True)
class Band:
    """Tags with about as many training texts, and micro F1 among them by method."""

    name: str
    n_tags: int
    f1: dict[str, float]


class LabelDemo(Demo):
    """Four models and two baselines on texts; three new texts, how sure the default model is, and rare tags."""

    name = task = "labels"

    # ---------------------------------------------------------------- the comparison

    def data(self, extent: Extent, report: Reporter) -> tuple[list[Any], list[str]]:
        """Return the radiology reports of medical, or made-up articles and the reason why."""
        try:
            return [_medical()], []
        except DatasetNotFoundError as error:
            report.say(f"Made-up articles instead: {error.missing}")
            return [made_up(_N_ARTICLES, extent.seed)], [error.missing]

    def methods(self, data: Any, extent: Extent) -> dict[str, Method]:
        """Return four models and binary relevance, with their defaults."""
        models = {**dict(zip(_SHOWN, _SHOWN, strict=True)), _ONE_BY_ONE: "BinaryRelevance"}
        return {name: Method(MODELS[kind](random_state=extent.seed)) for name, kind in models.items()}

    def parts(self, data: Any, extent: Extent) -> list[Any]:
        """Return the first fold."""
        folds = KFold(_N_FOLDS[data.name], shuffle=True, random_state=extent.seed)
        return [next(iter(folds.split(np.zeros(data.n_instances))))]

    def published(self, data: Any, method: str) -> Mapping[str, float]:
        """Return the published figures of a method; see `Demo.published`."""
        return super().published(data, "BinaryRelevance" if method == _ONE_BY_ONE else method)

    def heading(self, trial: Trial) -> str:
        """Return the heading of the comparison."""
        return f"Tags of {_KINDS[trial.data.name]}: four models beside two baselines"

    def opening(self, trial: Trial) -> str:
        """Return what the data are, and how they are split."""
        data, (train, test) = trial.data, trial.parts[0]
        rare = int((_frequencies(trial) <= _BANDS[-1][1]).sum())
        return (
            f"{data.description}.\n{len(train):,} texts to learn from, {len(test):,} to test; {data.n_features:,} "
            f"words; {data.n_labels} tags, {data.cardinality:.1f} a text, {rare} of them in fewer than ten texts."
        )

    def baselines(self, trial: Trial) -> Iterator[MethodResult]:
        """Yield the rule that gives all texts the same tags."""
        rule = LabelFrequencies(threshold="auto")
        yield MethodResult(
            _FREQUENT, dict(task_named(self.task).measure(rule, Loaded(trial.data.name, trial.data), trial.parts[0]))
        )

    def notes(self, finding: Finding) -> list[str]:
        """Return how it was measured, and what was published."""
        (trial,) = finding.trials
        known = [row.name for row in trial.rows if row.published]
        wanted = {
            "measures": True,
            "protocol": True,
            "published": bool(known),
            "omf": "OMF" in known,
            "made_up": trial.data.name == "articles",
        }
        return [self.words[name] for name, said in wanted.items() if said]

    # ---------------------------------------------------------------- examples

    def show_examples(self, finding: Finding, report: Reporter, number: int) -> None:
        """Tag three new texts, say how sure the model is, and how good on rare tags."""
        (trial,) = finding.trials
        model = trial.row(_DEFAULT).fitted
        test = trial.data.take(trial.parts[0][1])
        chances, predicted = model.predict_proba(test.X), np.asarray(model.predict(test.X).toarray(), dtype=bool)
        truth = np.asarray(test.Y.toarray(), dtype=bool)
        examples = [_example(model, test, row, chances, predicted) for row in _readable(test)]
        sure = list(_sure(chances, predicted, truth))
        bands = list(_bands(trial, truth))
        finding.examples = {"examples": examples, "sure": sure, "bands": bands, "chances": chances, "truth": truth}
        finding.examples["forgotten"] = self._forgotten(test, predicted, truth)
        report.heading(f"{number}  Three new texts, by {_DEFAULT}")
        report.say(self.words["examples"].format(*_LENGTHS[test.name]))
        for one in examples:
            report.say(f"\n“{one.text}”")
            for said in one.said:
                why = f"  because of {', '.join(said.because)}" if said.because else ""
                report.say(f"  {_chance(said.probability)}  {said.verdict:9}  {said.tag:24}{why}".rstrip())
        report.say("")
        report.say(_legend(examples), soft=True)
        report.heading(f"{number + 1}  How sure is it?")
        report.table(*_sure_table(sure))
        report.say(finding.examples["forgotten"])
        report.heading(f"{number + 2}  Rare tags")
        report.say(f"micro F1 among tags, by how many of the {len(trial.parts[0][0]):,} training texts have them:")
        report.table(*_band_table(bands))

    # ---------------------------------------------------------------- pictures

    def draw(self, finding: Finding, place: Path, report: Reporter) -> Iterator[Picture]:
        """Draw whether probabilities hold, and which tags go together."""
        (trial,), found = finding.trials, finding.examples
        names = trial.data.label_names
        ax = plot_label_reliability(found["truth"], found["chances"], labels=[], names=names, title=_DEFAULT)
        yield self.drawn(ax, place / "sure.png", name=_DEFAULT)
        groups = _together(trial)
        ax = plot_cooccurrence(trial.data.Y[:, groups[0]], groups[1], names=[names[k] for k in groups[0]])
        yield self.drawn(ax, place / "together.png", n=len(groups[0]))

    def write_data(self, finding: Finding, place: Path) -> None:
        """Write the articles that were made up."""
        (trial,) = finding.trials
        if trial.data.name == "articles":
            write_articles(trial.data, trial.parts[0], place)

    # ---------------------------------------------------------------- what is shown at the end

    def next_steps(self, finding: Finding) -> list[tuple[str, str]]:
        """Return four commands, each with what it does."""
        name, folder = finding.trials[0].data.name, finding.folder
        if name != "articles":
            return self.commands(old=name, new=name, options="")
        options = ' --text text --labels tags --label-sep ","'
        return self.commands(old=f"{folder}/articles.csv", new=f"{folder}/new-articles.csv", options=options)

    def as_json(self, finding: Finding) -> dict[str, Any]:
        """Return data, rows, examples, and how sure the model is."""
        (trial,) = finding.trials
        data, (train, test) = trial.data, trial.parts[0]
        rows = [
            {"name": row.name, **row.measures[""], "seconds": row.seconds, "published": dict(row.published) or None}
            for row in trial.rows
        ]
        return {
            **finding.base(),
            "data": {**_described(data), "sizes": _sizes(data) | {"train": len(train), "test": len(test)}},
            "missing": finding.missing,
            "rows": [{key: row[key] for key in ("name", *self.metrics, "seconds", "published")} for row in rows],
            **{name: [asdict(one) for one in finding.examples[name]] for name in ("examples", "sure", "bands")},
        }

    def lead(self, finding: Finding) -> list[Html]:
        """Return the figures that matter, and why the data are not real if they are not."""
        (trial,), (surest, *_) = finding.trials, finding.examples["sure"]
        best = trial.row(_DEFAULT)
        figures = [
            (f"{best.measures['']['micro_f1']:.2f}", f"micro F1 of {_DEFAULT} on new texts"),
            (f"{surest.right:.0%}", "right, of the tags with a probability of .9 or more"),
            (f"{best.seconds:.1f} s", f"to learn {trial.data.n_labels} tags from {len(trial.parts[0][0]):,} texts"),
        ]
        return [
            highlights(figures),
            *(paragraph(f"The articles are made up: {reason}.", soft=True) for reason in finding.missing),
        ]

    def sections(self, finding: Finding) -> list[Html | Section]:
        """Return the texts, how sure the model is, and the rare tags."""
        found, (trial,) = finding.examples, finding.trials
        heads, rows = _sure_table(found["sure"])
        sure = [
            [name, per_text, bar(right, one.right), bar(tags, one.found)]
            for one, (name, per_text, right, tags) in zip(found["sure"], rows, strict=True)
        ]
        n = len(trial.parts[0][0])
        return [
            section(
                "Three new texts",
                paragraph(self.words["examples"].format(*_LENGTHS[trial.data.name])),
                *(_page_of(k, one) for k, one in enumerate(found["examples"], 1)),
                paragraph(_legend(found["examples"]), soft=True),
            ),
            section(
                "How sure is it?",
                paragraph("What comes of setting all tags of at least a probability, on the test texts."),
                table(heads, sure, name="How sure is it?"),
                paragraph(found["forgotten"]) if found["forgotten"] else "",
            ),
            section(
                "Rare tags",
                paragraph(f"micro F1 among tags, by how many of the {n:,} training texts have them."),
                table(*_band_table(found["bands"], strong), name="Rare tags"),
            ),
        ]

    def _forgotten(self, test: Corpus, predicted: NDArray[np.bool_], truth: NDArray[np.bool_]) -> str:
        """Say how many of the tags that count as wrong belong to their texts, where that is known."""
        if test.about is None:
            return ""
        wrong = predicted & ~truth
        forgotten = np.count_nonzero(wrong & (test.about.toarray() > 0))
        return self.words["forgotten"].format(tags=plural(int(wrong.sum()), "tag"), name=_DEFAULT, n=forgotten)


def _described(data: LabelDataset) -> dict[str, Any]:
    return {"name": data.name, "description": data.description}


def _sizes(data: LabelDataset) -> dict[str, Any]:
    cardinality = round(data.cardinality, 3)
    sizes = {"instances": data.n_instances, "features": data.n_features, "labels": data.n_labels}
    return {**sizes, "cardinality": cardinality}


# ---------------------------------------------------------------- what the model says


def _frequencies(trial: Trial) -> NDArray[np.int64]:
    """Return the number of training texts of each tag."""
    return np.bincount(trial.data.Y[trial.parts[0][0]].indices, minlength=trial.data.n_labels)


def _readable(test: Corpus) -> list[int]:
    """Return the rows of the first texts of several tags that are neither short nor long."""
    low, high = _LENGTHS[test.name]
    many = np.diff(test.Y.indptr) >= 2
    return [k for k in np.flatnonzero(many).tolist() if low <= len(test.texts[k].split()) <= high][:_N_TEXTS]


def _example(model: Any, test: Corpus, row: int, chances: NDArray[Any], predicted: NDArray[np.bool_]) -> Example:
    """Return what a model says of a text: the tags it sets, and those it misses."""
    true = set(test.Y[[row]].indices.tolist())
    belong = true if test.about is None else set(test.about[[row]].indices.tolist())
    tags = sorted(true.union(np.flatnonzero(predicted[row]).tolist()), key=lambda tag: -chances[row, tag])
    names = [test.label_names[tag] for tag in tags]
    words: dict[str, list[str]] = {name: [] for name in names}
    for term in model.explain(test.X[[row]], names).records():
        if term["kind"] == "feature" and term["contribution"] > 0:
            words[term["label"]].append(_word(term["term"], test))
    said = []
    for tag, name in zip(tags, names, strict=True):
        if not predicted[row, tag]:
            verdict = "missed"
        else:
            verdict = "right" if tag in true else "forgotten" if tag in belong else "wrong"
        because = () if verdict == "missed" else tuple(words[name][:_N_WORDS])
        said.append(PredictedTag(name, float(chances[row, tag]), verdict, because))
    return Example(test.texts[row], tuple(said))


def _word(term: Any, test: LabelDataset) -> str:
    """Return the word that a feature stands for."""
    return str(term if isinstance(term, str) else test.feature_names[term]).removeprefix("text:")


def _sure(chances: NDArray[Any], predicted: NDArray[np.bool_], truth: NDArray[np.bool_]) -> Iterator[Sure]:
    """Yield what comes of each cut, and of the model's own."""
    rules = [(f"{_chance(cut)} or more", chances >= cut) for cut in _CUTS]
    for name, chosen in [*rules, ("as it decides", predicted)]:
        hits, n_set = np.count_nonzero(chosen & truth), np.count_nonzero(chosen)
        yield Sure(name, n_set / len(truth), _share(hits, n_set), _share(hits, np.count_nonzero(truth)))


def _share(part: Any, whole: Any) -> float:
    return float(part) / max(float(whole), 1.0)


def _bands(trial: Trial, truth: NDArray[np.bool_]) -> Iterator[Band]:
    """Yield micro F1 of each model among tags with about as many training texts."""
    frequencies, X = _frequencies(trial), trial.data.X[trial.parts[0][1]]
    predicted = {name: trial.row(name).fitted.predict(X).toarray() > 0 for name in trial.methods}
    for low, high in _BANDS:
        tags = (frequencies >= low) & (frequencies <= (np.inf if high is None else high))
        if not tags.any():
            continue
        cells = truth[:, tags]
        f1 = {
            name: _share(2 * np.count_nonzero(some[:, tags] & cells), some[:, tags].sum() + cells.sum())
            for name, some in predicted.items()
        }
        yield Band(f"{low} or more" if high is None else f"{low} to {high}", int(tags.sum()), f1)


def _together(trial: Trial) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the most frequent tags, and a group for each: that of the more frequent tag it most often goes with."""
    counts = np.bincount(trial.data.Y.indices, minlength=trial.data.n_labels)
    chosen = np.argsort(-counts, kind="stable")[:_NAMED]
    some = trial.data.Y[:, chosen].astype(np.float64)
    both = (some.T @ some).toarray()
    groups = np.arange(len(chosen))
    for k in range(1, len(chosen)):
        nearest = int(np.argmax(both[k, :k]))
        if both[k, nearest] >= both[k, k] / 3:
            groups[k] = groups[nearest]
    return chosen, groups


# ---------------------------------------------------------------- how it is shown


def _chance(probability: float) -> str:
    """Write a probability.

    Examples
    --------
    >>> _chance(0.934), _chance(0.999)
    ('.93', '1.0')
    """
    text = f"{probability:.2f}"
    return text.removeprefix("0") if probability < 0.995 else "1.0"


def _legend(examples: Sequence[Example]) -> str:
    """Say what the verdicts mean that occur."""
    seen = {said.verdict for one in examples for said in one.said}
    return (
        "; ".join(
            f"{verdict}: {meaning}" for verdict, meaning in TEXTS["labels"]["verdicts"].items() if verdict in seen
        )
        + "."
    )


def _sure_table(sure: Sequence[Sure]) -> tuple[list[str], list[list[str]]]:
    rows = [[one.name, f"{one.per_text:.1f}", f"{one.right:.0%}", f"{one.found:.0%}"] for one in sure]
    return ["probability", "tags a text", "right", "found"], rows


def _band_table(bands: Sequence[Band], mark: Any = "{}*".format) -> tuple[list[str], list[list[Any]]]:
    """Return headings and rows, the best of each row marked."""
    shown = (_DEFAULT, _ONE_BY_ONE)
    rows: list[list[Any]] = []
    for band in bands:
        texts = [f"{band.f1[name]:.2f}" for name in shown]
        rows.append([band.name, str(band.n_tags), *(mark(text) if text == max(texts) else text for text in texts)])
    return ["texts", "tags", *shown], rows


def _page_of(number: int, example: Example) -> Html:
    """Return a text, with the words marked that raise a tag, and what the model says of it."""
    reasons = {word for said in example.said for word in said.because}
    words = [
        part
        for word in example.text.split()
        for part in (good(word) if word.strip(".,").lower() in reasons else word, " ")
    ]
    rows = [
        [
            measured(said.tag, f"because of {', '.join(said.because)}" if said.because else ""),
            bar(_chance(said.probability), said.probability),
            said.verdict,
        ]
        for said in example.said
    ]
    return block(f"Text {number}", paragraph(*words), table(["tag", "probability", ""], rows, name=f"Text {number}"))


# ---------------------------------------------------------------- in full

_SETS = ("emotions", "medical", "cal500")
_BASELINE = "BinaryRelevance"

#: The models of a demo, which shall take less than two minutes; `compare` takes any.
SHOWN = ("LabelRidge", "OMF", "MLCHMF", "GroPLE", "LEML", "PLST", "CPLST", "CSSP", "FAiE", "MLkNN")
_FOLDS = 5
_BASES = 0.3  #: share of the features which the paper of MNMTF takes as bases, no more than there are labels here
_MANY = 100  #: labels, from which on the largest C of the baseline takes most of the time and is never chosen
#: Which data set a picture is made of, the first of these that is there.
_GROUPED = ("cal500", "medical")
_DESCRIBED = ("emotions",)
#: Methods of the picture of thresholds, beside the best one.
_CURVES = ("OMF", "GroPLE", "MLkNN", "BinaryRelevance")
_N_INSTANCES = 5
_FEW_ARTICLES = 400  #: where no data set is here
_N_GROUPS = 5
_SPARSE = 40.0  #: weight of the rows of V, with which about half of them are zero on cal500


@dataclass(frozen=True)
class Predicted:
    """Predictions for some instances of a test part."""

    data: str
    model: str
    instances: list[dict[str, Any]]
    text: str
    html: str


class FullLabelDemo(Demo):
    """All label methods on three data sets, with a plain cut and with a learned one."""

    name, task = "all-labels", "labels"

    # ---------------------------------------------------------------- the comparison

    def data(self, extent: Extent, report: Reporter) -> tuple[list[Any], list[str]]:
        """Return the data sets that are here, and why others are missing; a synthetic one if none is here."""
        found: list[Any] = []
        reasons = []
        for name in _SETS:
            try:
                found.append(load_labels(name))
            except DatasetNotFoundError as error:
                reasons.append(error.missing)
        if not found:
            report.say(f"Made-up articles instead: {reasons[0]}")
            found.append(made_up(_FEW_ARTICLES, extent.seed))
        return found, reasons

    def methods(self, data: Any, extent: Extent) -> dict[str, Method]:
        """Return the models, and factorization of the features before ML-kNN, binary relevance last."""
        seed = extent.seed
        models: dict[str, Any] = {name: MODELS[name].paper(random_state=seed) for name in SHOWN}
        n_bases = max(1, min(data.n_labels, int(_BASES * data.n_features)))
        reduce = MNMTF(n_components=n_bases, random_state=seed)
        models["MNMTF + MLkNN"] = Pipeline([("reduce", reduce), ("mlknn", MLkNN.paper(random_state=seed))])
        models[_BASELINE] = MODELS[_BASELINE].paper(random_state=seed)
        return {name: _method(model, data, extent) for name, model in models.items()}

    def parts(self, data: Any, extent: Extent) -> list[Any]:
        """Return five folds."""
        return list(KFold(_FOLDS, shuffle=True, random_state=extent.seed).split(np.zeros(data.n_instances)))

    def notes(self, finding: Finding) -> list[str]:
        """Return how it was measured, and what was published."""
        known = [(trial.data.name, row.name) for trial in finding.trials for row in trial.rows if row.published]
        texts = [self.words["protocol"], self.words["learned"]]
        texts += [self.words["published"]] if known else []
        return texts + ([TEXTS["labels"]["words"]["omf"]] if ("medical", "OMF") in known else [])

    # ---------------------------------------------------------------- examples

    def show_examples(self, finding: Finding, report: Reporter, number: int) -> None:
        """Predict for five instances."""
        report.heading(f"{number}  Predictions, pictures, report")
        trial = _first(_DESCRIBED, finding.trials)
        example = predictions(trial, best_method(trial), _N_INSTANCES)
        finding.examples = {"example": example}
        report.say(f"{example.data}, five instances of the test part, by {example.model}:")
        report.say(example.text)
        report.say("✓ found  ✗ wrong  – missed", soft=True)

    # ---------------------------------------------------------------- pictures

    def draw(self, finding: Finding, place: Path, report: Reporter) -> Iterator[Picture]:
        """Draw groups of labels, sparsity, thresholds, and a tree."""
        grouped, described = _first(_GROUPED, finding.trials), _first(_DESCRIBED, finding.trials)
        name = grouped.data.name
        if "GroPLE" in grouped.methods:
            yield self.drawn(_groups(grouped), place / "labels.png", name=name)
            yield self.drawn(_sparsity(grouped), place / "sparsity.png")
        yield self.drawn(_thresholds(grouped), place / "thresholds.png", name=name)
        if "MLCHMF" in described.methods:
            tree = described.row("MLCHMF").fitted.estimators_["plain"].tree_
            yield self.drawn(plot_label_tree(tree, title=f"MLC-HMF, {described.data.name}"), place / "tree.png")

    def write_data(self, finding: Finding, place: Path) -> None:
        """Write the articles that were made up."""
        trial = finding.trials[0]
        if trial.data.name == "articles":
            write_articles(trial.data, trial.parts[0], place)

    # ---------------------------------------------------------------- what is shown at the end

    def next_steps(self, finding: Finding) -> list[tuple[str, str]]:
        """Return three commands, each with what it does."""
        data = finding.trials[0].data
        return LabelDemo().next_steps(finding) if data.name == "articles" else self.commands(name=data.name)

    def as_json(self, finding: Finding) -> dict[str, Any]:
        """Return tables and predictions."""
        example = finding.examples["example"]
        return {
            **finding.base(),
            "tables": [self._plain_trial(trial) for trial in finding.trials],
            "missing": finding.missing,
            "example": {"data": example.data, "model": example.model, "instances": example.instances},
        }

    def _plain_trial(self, trial: Trial) -> dict[str, Any]:
        data = trial.data
        rows = [
            {
                "name": row.name,
                "plain": row.measures[""],
                "learned": row.measures["learned"],
                "seconds": row.seconds,
                "published": {key: row.published.get(key) for key in self.metrics} if row.published else None,
                "chosen": {"plain": _written(row.chosen[""]), "learned": _written(row.chosen["learned"])},
            }
            for row in trial.rows
        ]
        return {**_described(data), "sizes": _sizes(data), "folds": len(trial.parts), "rows": rows}

    def lead(self, finding: Finding) -> list[Html]:
        """Return why data sets are missing."""
        return [paragraph(reason, soft=True) for reason in finding.missing]

    def sections(self, finding: Finding) -> list[Html | Section]:
        """Return the predictions."""
        example = finding.examples["example"]
        lead = f"Five instances of the test part of {example.data}, by {example.model}."
        return [section("Predictions", paragraph(lead), scrolling(example.html, "Predictions"))]


# ---------------------------------------------------------------- methods


def _method(model: Any, data: LabelDataset, extent: Extent) -> Method:
    """Return a model with the choice of its parameters and of its threshold on a fifth of the training part."""
    inside, prefix = (model.steps[-1][1], "mlknn__") if isinstance(model, Pipeline) else (model, "")
    grid = {f"{prefix}{name}": values for name, values in inside.default_grid().items()}
    if "estimator" in grid and data.n_labels > _MANY:
        grid["estimator"] = grid["estimator"][:-1]
    search = Search(model, grid, thresholds=("plain", "global"), random_state=extent.seed)
    return Method(search, scaled_by(MinMaxScaler(clip=True) if prefix else StandardScaler()))


def scaled_by(scaler: Any) -> Callable[[LabelDataset, Any], LabelDataset]:
    """Return what scales the features of data as a training part says; sparse ones stay as they are.

    Parameters
    ----------
    scaler : transformer of scikit-learn
        Not changed.
    """

    def scaled(data: LabelDataset, train: Any) -> LabelDataset:
        if not isinstance(data.X, np.ndarray):
            return data
        return replace(data, X=clone(scaler).fit(data.X[train]).transform(data.X))

    return scaled


def best_method(trial: Trial, way: str = "") -> str:
    """Return the method with the highest micro-F1."""
    return max(trial.rows, key=lambda row: row.measures[way]["micro_f1"]).name


def _first(wanted: Sequence[str], trials: Sequence[Trial]) -> Trial:
    """Return the comparison on the first of these data sets that is there, or the first of all."""
    there = {trial.data.name: trial for trial in trials}
    return next((there[name] for name in wanted if name in there), trials[0])


def _written(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{name.rpartition('__')[2]} {value}" for name, value in parameters.items())


def predictions(trial: Trial, name: str, n: int) -> Predicted:
    """Return what a method predicts for the first instances of the test part, beside their true labels."""
    _, test = trial.parts[0]
    X = trial.prepared(name).X[test[:n]]
    labels = as_labels(trial.row(name).fitted.estimators_["plain"].predict(X))[0]
    truth, names = trial.data.Y[test][:n], trial.data.label_names
    rows = [f"instance {k + 1}" for k in test[:n]]
    instances = [
        {
            "instance": int(k) + 1,
            "true": [names[j] for j in truth[[i]].indices],
            "predicted": [names[j] for j in labels[[i]].indices],
        }
        for i, k in enumerate(test[:n])
    ]
    text, html = (prediction_table(truth, labels, names, rows=rows, form=form) for form in ("text", "html"))
    return Predicted(trial.data.name, name, instances, text, html)


# ---------------------------------------------------------------- pictures in full


def _groups(trial: Trial) -> Any:
    """Draw which labels go together, as they come and by the groups of GroPLE."""
    data, groups = trial.data, trial.row("GroPLE").fitted.estimators_["plain"].groups_
    before, after = new_panels(2, width=13)
    plot_cooccurrence(data.Y, ax=before, names=data.label_names, title="as they come")
    plot_cooccurrence(data.Y, groups, ax=after, names=data.label_names, title="by group")
    return before


def _sparsity(trial: Trial) -> Any:
    """Draw GroPLE fitted with few groups and a large weight of the rows of V."""
    train, _ = trial.parts[0]
    model = clone(trial.methods["GroPLE"].search.estimator).set_params(n_groups=_N_GROUPS, alpha_v=_SPARSE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sparse = model.fit(trial.prepared("GroPLE").X[train], trial.data.Y[train])
    title = f"{trial.data.name}, {_N_GROUPS} groups, λ₂ = {_SPARSE:g}"
    return plot_group_sparsity(sparse.V_, sparse.groups_, title=title)


def _thresholds(trial: Trial) -> Any:
    """Draw micro-F1 of the test part along the cut for some methods, and the cuts which they had learned."""
    _, test = trial.parts[0]
    truth, _, _ = as_labels(trial.data.Y[test])
    shown = [one for one in dict.fromkeys((best_method(trial, "learned"), *_CURVES)) if one in trial.methods]
    curves, cuts = {}, {}
    for method in shown:
        fitted = trial.row(method).fitted
        scores = fitted.estimators_["learned"].decision_function(trial.prepared(method).X[test])
        curves[method] = micro_f1_curve(np.asarray(scores), truth)
        cuts[method] = float(np.asarray(fitted.choices_["learned"].threshold.value))
    return plot_threshold_curves(curves, cuts, title=f"{trial.data.name}, test part")
