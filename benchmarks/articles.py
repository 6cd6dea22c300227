"""What `make_articles` makes, beside real sets of tagged texts: sizes, tags, words, and how well models do on them.

    COFACTOR_DATA=... python benchmarks/articles.py       table into docs/benchmarks; some minutes on two cores

Each model has its defaults and sees tf-idf values of the words; figures are means over two of five folds, of the
articles over three seeds. Of larger sets 1,500 texts are drawn.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from common import publish, table
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import KFold

from cofactor.datasets import LabelDataset, load_labels, make_articles
from cofactor.kernels.threads import library_limit
from cofactor.labels import MODELS
from cofactor.metrics import macro_f1, micro_f1

SETS = ("medical", "llog", "ohsumed", "bibtex", "yahoo-arts")
SEEDS, FOLDS, MOST = (0, 1, 2), 2, 1500
SHOWN = ("LabelRidge", "OMF", "PLST", "BinaryRelevance", "MLkNN")


def correlations(Y: np.ndarray) -> np.ndarray:
    """Return the correlation of each tag with the one that it correlates with most."""
    varying = Y[:, Y.std(axis=0) > 0]
    C = np.corrcoef(varying.T)
    np.fill_diagonal(C, -1)
    return C.max(axis=0)


STATISTICS: dict[str, Callable[[LabelDataset], str]] = {
    "texts": lambda data: f"{data.n_instances:,}",
    "words": lambda data: f"{data.n_features:,}",
    "tags": lambda data: f"{data.n_labels}",
    "tags a text": lambda data: f"{data.cardinality:.2f}",
    "share of tags that a text has": lambda data: f"{data.cardinality / data.n_labels:.3f}",
    "texts with the most frequent tag": lambda data: f"{frequencies(data).max():.0%}",
    "texts with the median tag": lambda data: f"{np.median(frequencies(data)):.1%}",
    "tags with fewer than ten texts": lambda data: f"{np.mean(frequencies(data) * len(data) < 9.5):.0%}",
    "label sets, a share of the texts": lambda data: f"{label_sets(data) / len(data):.2f}",
    "correlation with the nearest tag, mean": lambda data: f"{correlations(data.Y.toarray()).mean():.2f}",
    "different words a text, median": lambda data: f"{np.median(lengths(data)):.0f}",
    "a tenth has fewer, a tenth more": lambda data: " to ".join(
        f"{bound:.0f}" for bound in np.percentile(lengths(data), [10, 90])
    ),
}


def frequencies(data: LabelDataset) -> np.ndarray:
    return np.asarray(data.Y.sum(axis=0)).ravel() / len(data)


def lengths(data: LabelDataset) -> np.ndarray:
    return np.diff(data.X.indptr)


def label_sets(data: LabelDataset) -> int:
    return len({tuple(row) for row in data.Y.tolil().rows})


def read(name: str) -> LabelDataset:
    """Return a real set, at most 1,500 rows of it."""
    data = load_labels(name)
    return data.take(np.sort(np.random.default_rng(0).permutation(len(data))[:MOST]))


def f1(data: LabelDataset, X: Any) -> np.ndarray:
    """Return micro-F1 and macro-F1 of each model: models x 2."""
    found = []
    for train, test in list(KFold(5, shuffle=True, random_state=0).split(np.zeros(len(data))))[:FOLDS]:
        for name in SHOWN:
            model = MODELS[name](random_state=0).fit(X[train], data.Y[train])
            predicted = model.predict(X[test])
            found.append([micro_f1(data.Y[test], predicted), macro_f1(data.Y[test], predicted)])
    return np.mean(np.reshape(found, (FOLDS, len(SHOWN), 2)), axis=0)


def main() -> None:
    made = [make_articles(random_state=seed)[0] for seed in SEEDS]
    real = {name: read(name) for name in SETS}
    columns = {"articles": np.mean([f1(data, data.X) for data in made], axis=0)}
    for name, data in real.items():
        words = csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(csr_array(data.X)))
        columns[name] = f1(data, words)
        print(name, columns[name].round(3).tolist(), flush=True)
    rows = [[what, of(made[0]), *(of(data) for data in real.values())] for what, of in STATISTICS.items()]
    for measure, which in (("micro-F1", 0), ("macro-F1", 1)):
        rows += [
            [f"{measure} of {name}", *(f"{found[k, which]:.3f}".lstrip("0") for found in columns.values())]
            for k, name in enumerate(SHOWN)
        ]
    publish("made-up articles beside real sets", table(["", "make_articles", *SETS], rows))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    with library_limit(1, "blas"):
        main()
