"""``cofactor demo labels``: models that tag texts, what one says of new texts, why, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.model_selection import KFold

from cofactor.datasets import DatasetNotFoundError, LabelDataset, load_labels, make_articles, write_table
from cofactor.experiments.demos.base import Demo, Extent, Finding, Method, Picture, Reporter, Row, Trial
from cofactor.labels import MODELS
from cofactor.pages import Html, Section, bar, block, good, highlights, measured, paragraph, section, strong, table
from cofactor.plots import plot_cooccurrence, plot_label_reliability, save_figure
from cofactor.service import task_named
from cofactor.service.baselines import LabelFrequencies
from cofactor.service.results import Loaded
from cofactor.text import counted

__all__ = ["OMF_ON_MEDICAL", "Corpus", "LabelDemo", "commands_for", "made_up", "write_articles"]

_MEASURES = (
    "Micro F1 counts all tags of all texts together: 1 if each is set and none in vain. Macro F1 is the mean over "
    "tags, so that a rare one counts as much as a frequent one. First tag: how often the likeliest tag of a text is "
    "right."
)
_PROTOCOL = (
    "All models have the settings that a user gets without asking for any: each chooses its parameters, and where to "
    "cut its scores, on the training texts alone, for micro F1. Seconds are those of the fit. The "
    "baselines are binary relevance, a linear classifier for each tag by itself, and “frequent tags”, the same ones "
    "for all texts."
)
_PUBLISHED = (
    "Published, below a method: tables 5.10 and 6.2 of Kumar's thesis, for the same data but other folds, settings of "
    "papers and a plain cut; cofactor demo labels --full repeats these."
)
OMF_ON_MEDICAL = (
    "OMF's .896 on medical, table 2 of its paper, cannot be reached: even a threshold chosen on the test part does not "
    "come near it."
)
_MADE_UP = (
    "The articles are made up: the words make no sense, but tags and words have the statistics of real tagged texts "
    "(make_articles says how). Few texts for many tags, tags that go together, words with several meanings, and "
    "annotators who forget: the case for models that learn all tags together."
)
_EXAMPLES = (
    "The first three test texts of two tags or more and of {} to {} words, with the words that raise each tag most."
)
_VERDICTS = {
    "right": "the annotator set it too",
    "wrong": "the annotator did not set it",
    "missed": "the annotator set it, and the model did not",
    "forgotten": "it belongs to the text, but the annotator forgot it",
}
_SHOWN, _DEFAULT = ("LabelRidge", "OMF", "PLST", "MLkNN"), "LabelRidge"
_ONE_BY_ONE, _FREQUENT = "binary relevance", "frequent tags"
_KINDS = {"articles": "made-up news", "medical": "radiology reports"}
_N_ARTICLES, _FOLDS = 1200, {"articles": 3, "medical": 5}
_N_TEXTS, _N_WORDS = 3, 3  #: texts to show, and words to name for a tag
_LENGTHS = {"articles": (40, 80), "medical": (8, 30)}  #: words of such a text
_CUTS = (0.9, 0.7, 0.5)
_BANDS = ((100, None), (30, 99), (10, 29), (1, 9))  #: training texts of a tag
_NAMED = 40  #: tags in the picture of those that go together
#: What the labels of the radiology reports mean, by their names. In the published file, as the words of the reports
#: show, the names of nine pairs are exchanged: 486, pneumonia, stands with fever, and 780_6, fever, with pneumonia.
_MEANINGS = {
    "079_99": "other anomaly", "277_00": "cystic fibrosis", "279_12": "blood in urine", "462": "pharyngitis",
    "486": "fever", "493_90": "past urinary infection", "511_9": "bladder disorder", "518_0": "pulmonary collapse",
    "591": "hydronephrosis", "592_0": "kidney stone", "593_1": "enlarged kidney", "593_5": "hydroureter",
    "593_70": "reflux", "593_89": "incontinence", "596_54": "neurogenic bladder", "596_8": "pleural effusion",
    "599_0": "urinary infection", "599_7": "Wiskott-Aldrich syndrome", "741_90": "Turner syndrome",
    "753_0": "cough", "753_21": "ureteropelvic obstruction", "753_3": "kidney anomaly", "758_6": "spina bifida",
    "759_89": "viral infection", "780_6": "pneumonia", "783_0": "anorexia", "785_6": "follow-up of surgery",
    "786_05": "shortness of breath", "786_07": "wheezing", "786_09": "breathing disorder", "786_2": "missing kidney",
    "786_50": "chest pain", "786_59": "chest tightness", "787_03": "vomiting", "788_30": "kidney disorder",
    "788_41": "frequent urination", "789_00": "abdominal pain", "789_09": "other abdominal pain",
    "791_0": "protein in urine", "795_5": "tuberculin reaction", "V13_02": "asthma",
    "V13_09": "past urinary disorder", "V42_0": "kidney transplant", "V67_09": "swollen lymph nodes",
    "V72_5": "chest examination",
}  # fmt: skip


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
    names = tuple(_MEANINGS[name.split("-", 2)[2]] for name in data.label_names)
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


def commands_for(data: LabelDataset, folder: str) -> list[tuple[str, str]]:
    """Return commands to go on with, each with what it does."""
    made = data.name == "articles"
    old, new = (f"{folder}/articles.csv", f"{folder}/new-articles.csv") if made else (data.name, data.name)
    options = ' --text text --labels tags --label-sep ","' if made else ""
    return [
        (
            f"cofactor fit {old}{options} --out tags.cofactor",
            "learn tags; your own texts are a table with such columns",
        ),
        (f"cofactor predict tags.cofactor {new} --proba --top 3", "the three likeliest tags of each text"),
        (f"cofactor explain tags.cofactor {new} -n 3", "the words that speak for and against each tag"),
        (f"cofactor evaluate {old}{options} -m label-ridge -m binary-relevance", "measure by cross-validation"),
    ]


@dataclass(frozen=True)
class Said:
    """A tag of a text: its probability, whether it is right, and the words that raise it."""

    tag: str
    probability: float
    verdict: str
    because: tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """A text of the test part, and what the model says of it."""

    text: str
    said: tuple[Said, ...]


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

    task, title = "labels", "cofactor demo labels"
    metrics: ClassVar[Mapping[str, str]] = {
        "micro_f1": "micro F1",
        "macro_f1": "macro F1",
        "precision_at_1": "first tag",
    }
    tables = ("thesis-5.9", "thesis-5.10", "thesis-6.2", "omf-2")
    about: ClassVar[Mapping[str, str]] = {
        "LabelRidge": "all tags together, the default",
        "OMF": "words and tags in one latent space",
        "PLST": "principal directions of the tags",
        "MLkNN": "the tags of the nearest texts",
        _ONE_BY_ONE: "a classifier for each tag by itself",
        _FREQUENT: "the same tags for all texts",
    }
    greater_is_better = frozenset(metrics)
    digits = 3
    pictures = frozenset({"sure.png", "together.png"})

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
        folds = KFold(_FOLDS[data.name], shuffle=True, random_state=extent.seed)
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

    def baselines(self, trial: Trial) -> Iterator[Row]:
        """Yield the rule that gives all texts the same tags."""
        rule = LabelFrequencies(threshold="auto")
        yield Row(
            _FREQUENT, dict(task_named(self.task).measure(rule, Loaded(trial.data.name, trial.data), trial.parts[0]))
        )

    def notes(self, finding: Finding) -> list[str]:
        """Return how it was measured, and what was published."""
        (trial,) = finding.trials
        known = [row.name for row in trial.rows if row.published]
        texts = [_MEASURES, _PROTOCOL]
        texts += [_PUBLISHED] if known else []
        texts += [OMF_ON_MEDICAL] if "OMF" in known else []
        return texts + ([_MADE_UP] if trial.data.name == "articles" else [])

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
        finding.examples["forgotten"] = _forgotten(test, predicted, truth)
        report.heading(f"{number}  Three new texts, by {_DEFAULT}")
        report.say(_EXAMPLES.format(*_LENGTHS[test.name]))
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
        save_figure(ax, place / "sure.png")
        yield Picture(
            "sure.png", f"How often tags of the test texts are right against the probability that {_DEFAULT} gives."
        )
        groups = _together(trial)
        ax = plot_cooccurrence(trial.data.Y[:, groups[0]], groups[1], names=[names[k] for k in groups[0]])
        save_figure(ax, place / "together.png")
        yield Picture("together.png", f"Which of the {len(groups[0])} most frequent tags go together.")

    def write_data(self, finding: Finding, place: Path) -> None:
        """Write the articles that were made up."""
        (trial,) = finding.trials
        if trial.data.name == "articles":
            write_articles(trial.data, trial.parts[0], place)

    # ---------------------------------------------------------------- what is shown at the end

    def next_steps(self, finding: Finding) -> list[tuple[str, str]]:
        """Return four commands, each with what it does."""
        return commands_for(finding.trials[0].data, finding.folder)

    def as_json(self, finding: Finding) -> dict[str, Any]:
        """Return data, rows, examples, and how sure the model is."""
        (trial,) = finding.trials
        data, (train, test) = trial.data, trial.parts[0]
        rows = [
            {"name": row.name, **row.measures[""], "seconds": row.seconds, "published": dict(row.published) or None}
            for row in trial.rows
        ]
        sizes = {
            "instances": data.n_instances,
            "features": data.n_features,
            "labels": data.n_labels,
            "cardinality": round(data.cardinality, 3),
            "train": len(train),
            "test": len(test),
        }
        return {
            **finding.base(),
            "data": {"name": data.name, "description": data.description, "sizes": sizes},
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
                paragraph(_EXAMPLES.format(*_LENGTHS[trial.data.name])),
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
        said.append(Said(name, float(chances[row, tag]), verdict, because))
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


def _forgotten(test: Corpus, predicted: NDArray[np.bool_], truth: NDArray[np.bool_]) -> str:
    """Say how many of the tags that count as wrong belong to their texts, where that is known."""
    if test.about is None:
        return ""
    wrong = predicted & ~truth
    forgotten = np.count_nonzero(wrong & (test.about.toarray() > 0))
    return (
        f"Of {counted(int(wrong.sum()), 'tag')} that {_DEFAULT} sets and annotators did not, {forgotten} belong to the "
        "text: the annotators forgot these."
    )


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
    return "; ".join(f"{verdict}: {meaning}" for verdict, meaning in _VERDICTS.items() if verdict in seen) + "."


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
