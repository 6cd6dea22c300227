"""Label methods with the settings of their papers, on the two folds of three data sets that plain ones were tried on.

    python benchmarks/label_methods.py [--sets ...] [--methods ...]     a line for each; all go into docs/benchmarks

Folds are the first two of `KFold(5, shuffle=True, random_state=0)`. Features of emotions and cal500 are standardized on
the training part; rows of medical have length 1, those of "medical raw" are counts. The plain cut stands apart from
two that are learned on held-out training instances: "learned" is the model's own (`threshold="global"`, the best
micro-F1), "for accuracy" has the best accuracy on a quarter. Seconds are those of the processor, of a fit and its
predictions, without compilation. Where settings are "chosen", it is by accuracy on a quarter, and together with the
cut for accuracy; seconds are those of all fits.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import publish, table
from label_plain import best_cut
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, ParameterGrid, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from cofactor.datasets import load_labels
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.evaluation import Search
from cofactor.labels import (
    ANMF,
    BPMLL,
    CCA,
    CPLST,
    CSSP,
    HOMER,
    IBLR,
    LEML,
    LIFT,
    LLSF,
    LLSFDL,
    MDDM,
    MLDA,
    MLSI,
    MME,
    MNMF,
    PLST,
    SSJDR,
    AdaBoostMH,
    AdaBoostMR,
    BinaryRelevance,
    BRkNN,
    CalibratedLabelRanking,
    ClassifierChain,
    CompressedSensing,
    EnsembleOfChains,
    FAiE,
    FeatureLabelCCA,
    FeatureNMF,
    KNNVote,
    LabelClustering,
    LabelModel,
    LabelPCA,
    LabelPowerset,
    LabelRidge,
    MetaLabels,
    MLDecisionTree,
    MLForest,
    MLkNN,
    ProbabilisticChain,
    RAkEL,
    Stacked2BR,
)
from cofactor.metrics import label_report
from cofactor.text import without_zero

SETS = ("emotions", "medical", "medical raw", "cal500")
MEASURES = ("accuracy", "example_f1", "macro_f1", "micro_f1", "hamming")

#: The support vector machine of the documents; ours have the squared hinge.
HINGE = LinearSVC(loss="hinge", dual=True, max_iter=10_000)

Made = LabelModel | Pipeline | Search

GAMMAS = [1.0, 10.0, 100.0]
PENALTIES = [10.0**k for k in range(-4, 5)]
CODES = {"n_components": [0.2, 0.4, 0.6, 0.8], "alpha": PENALTIES[2:]}
FAIE = {"n_components": [0.4, 0.6, 0.8], "alpha": [0.1, 0.3, *PENALTIES[4:8]], "beta": [0.01, 1.0, 100.0, 1e3, 1e4]}
WEIGHTS = {"alpha": [0.01, 0.1, 1.0, 10.0], "beta": [0.01, 0.1, 1.0, 10.0]}
PLAIN: dict[str, Any] = {"scale": "none", "threshold": 0}
#: Of full rank: by itself the model chooses a rank too.
RIDGE = LabelRidge(kernel="linear", n_components=1.0, **PLAIN)

#: How each method is made: from the number of labels.
METHODS: dict[str, Callable[[int], Made]] = {
    "ML-kNN": lambda L: MLkNN.paper(),
    "BR-kNN": lambda L: BRkNN.paper(),
    "BR-kNN-a": lambda L: BRkNN.paper(extension="a"),
    "BR-kNN-b": lambda L: BRkNN.paper(extension="b"),
    "kNN vote": lambda L: KNNVote.paper(),
    "IBLR": lambda L: IBLR.paper(),
    "IBLR+": lambda L: IBLR.paper(with_features=True),
    "AdaBoost.MH": lambda L: AdaBoostMH.paper(),
    "AdaBoost.MH, 400 rounds": lambda L: AdaBoostMH.paper(400),
    "AdaBoost.MH, rounds chosen": lambda L: chosen(AdaBoostMH.paper(), {"n_estimators": [25, 50, 100, 200, 400]}),
    "AdaBoost.MR": lambda L: AdaBoostMR.paper(threshold=0),
    "AdaBoost.MR, rounds chosen": lambda L: chosen(AdaBoostMR.paper(threshold=0), {"n_estimators": [25, 50, 100, 200]}),
    "ML-DT": lambda L: MLDecisionTree.paper(),
    "ML-DT, pruned": lambda L: MLDecisionTree.paper(min_samples_leaf=5, ccp_alpha=0.005),
    "ML-DT, leaves chosen": lambda L: MLDecisionTree.paper(min_samples_leaf="auto"),
    "random forest": lambda L: MLForest.paper(),
    "extra trees": lambda L: MLForest.paper(trees="extra-trees"),
    "BP-MLL": lambda L: BPMLL.paper(),
    "BP-MLL, less decay": lambda L: BPMLL.paper(decay=0.01),
    "IBLR, cost chosen": lambda L: IBLR(**PLAIN),
    "IBLR+, cost chosen": lambda L: IBLR(with_features=True, **PLAIN),
    "ridge, chosen": lambda L: chosen(RIDGE, {"alpha": PENALTIES}),
    "PLST, chosen": lambda L: chosen(PLST(**PLAIN), CODES),
    "CPLST, chosen": lambda L: chosen(CPLST(**PLAIN), CODES),
    "CSSP, chosen": lambda L: chosen(CSSP(**PLAIN), CODES),
    "CSSP of 0/1, chosen": lambda L: chosen(CSSP(coding="0/1", **PLAIN), CODES),
    "FAiE, chosen": lambda L: chosen(FAiE(**PLAIN), FAIE),
    "FAiE of 0/1, chosen": lambda L: chosen(FAiE(coding="0/1", **PLAIN), FAIE),
    "LEML, chosen": lambda L: chosen(LEML(**PLAIN), CODES),
    "BR": lambda L: BinaryRelevance.paper(LinearSVC()),
    "BR, cost chosen": lambda L: BinaryRelevance(**PLAIN),
    "BR, chosen": lambda L: chosen(BinaryRelevance.paper(LinearSVC()), {"estimator__C": [0.01, 0.1, 1.0, 10.0, 100.0]}),
    "BR of hinges": lambda L: BinaryRelevance.paper(HINGE),
    "2BR": lambda L: Stacked2BR.paper(random_state=0),
    "CC": lambda L: ClassifierChain.paper(),
    "CC of hinges": lambda L: ClassifierChain.paper(HINGE),
    "CC by pearson": lambda L: ClassifierChain.paper(order="pearson"),
    "ECC": lambda L: EnsembleOfChains.paper(),
    "LP": lambda L: LabelPowerset.paper(),
    "LP of hinges": lambda L: LabelPowerset.paper(HINGE),
    "RAkEL-o": lambda L: RAkEL.paper(),
    "RAkEL-o of hinges": lambda L: RAkEL.paper(HINGE),
    "RAkEL-d": lambda L: RAkEL.paper(overlapping=False),
    "RAkEL-d of hinges": lambda L: RAkEL.paper(HINGE, overlapping=False),
    "LC of LP": lambda L: LabelClustering.paper(),
    "LC of LP, overlapping": lambda L: LabelClustering.paper(clustering="overlapping"),
    "PCC": lambda L: ProbabilisticChain.paper(threshold="joint"),
    "PCC for example F1": lambda L: ProbabilisticChain.paper(threshold="joint", best_for="example"),
    "HOMER": lambda L: HOMER.paper(),
    "MLSF": lambda L: MetaLabels.paper(),
    "MLSF, chosen": lambda L: chosen(MetaLabels.paper()),
    "MLSF of hinges": lambda L: MetaLabels.paper(HINGE),
    "CLR": lambda L: CalibratedLabelRanking.paper(),
    "CLR of hinges": lambda L: CalibratedLabelRanking.paper(HINGE),
    "label PCA": lambda L: LabelPCA.paper(),
    "feature/label CCA": lambda L: FeatureLabelCCA.paper(),
    "LIFT": lambda L: LIFT.paper(),
    "LIFT, cost chosen": lambda L: LIFT(**PLAIN),
    "LLSF": lambda L: LLSF.paper(correlation="psd", fit_intercept=True),
    "LLSF without intercept": lambda L: LLSF.paper(correlation="psd"),
    "LLSF of R as it is, without intercept": lambda L: LLSF.paper(),
    "LLSF, weights chosen": lambda L: LLSF(**PLAIN),
    "LLSF, chosen": lambda L: chosen(LLSF(**PLAIN), WEIGHTS),
    "LLSF without intercept, chosen": lambda L: chosen(LLSF(fit_intercept=False, **PLAIN), WEIGHTS),
    "LLSF-DL": lambda L: LLSFDL.paper(fit_intercept=True),
    "LLSF-DL of predicted labels": lambda L: LLSFDL.paper(other_labels="predicted", fit_intercept=True),
    "LLSF-DL, weights chosen": lambda L: LLSFDL(**PLAIN),
    "SSJDR": lambda L: SSJDR.paper(),
    "SSJDR, moderate penalties": lambda L: SSJDR.paper(100, 10.0, 0.01, alpha_u=1.0),
    "SSJDR, small penalties": lambda L: SSJDR.paper(100, 0.01, 1e-4),
    "SSJDR, weights chosen": lambda L: SSJDR(**PLAIN),
    "SSJDR, chosen": lambda L: chosen(SSJDR(**PLAIN), {"alpha": [0.01, 0.1, 1.0, 10.0, 100.0]}),
    "MDDMp+ML-kNN": lambda L: before_neighbours(MDDM(scale="none")),
    "MDDMf+ML-kNN": lambda L: before_neighbours(MDDM(form="features", scale="none")),
    "MLSI+ML-kNN": lambda L: before_neighbours(MLSI(scale="none")),
    "MLDA+ML-kNN": lambda L: before_neighbours(MLDA(scale="none")),
    "MLSI+ML-kNN, chosen": lambda L: chosen(
        before_neighbours(MLSI(scale="none")),
        {"reduce__n_components": ["auto", 10, 20, 40, 80], "reduce__gamma": GAMMAS, "reduce__balance": [False, True]},
    ),
    "CCA+ML-kNN": lambda L: before_neighbours(CCA(scale="none")),
    "CCA+ML-kNN, chosen": lambda L: chosen(
        before_neighbours(CCA(scale="none")),
        {"reduce__n_components": ["auto", *(L * k // 4 for k in (1, 2, 3))], "reduce__gamma": GAMMAS},
    ),
    "CCA+SVM": lambda L: Pipeline([("reduce", CCA(scale="none")), ("svm", BinaryRelevance.paper(HINGE))]),
    "NMF+ML-kNN": lambda L: Pipeline([("shift", Shift()), *before_neighbours(FeatureNMF(random_state=0)).steps]),
    "MME": lambda L: MME(50, **PLAIN),
    "MME, chosen": lambda L: chosen(MME(50, **PLAIN), {"alpha": [0.1, 1.0, 10.0, 100.0], "cost": ["unit", "root"]}),
    "MME by pairs": lambda L: MME(50, form="pairs", **PLAIN),
    "ANMF": lambda L: ANMF(**PLAIN),
    "MNMF": lambda L: MNMF(**PLAIN),
    "MNMF, chosen": lambda L: chosen(MNMF(tol=1e-3, **PLAIN), factors(L)),
    "CS-omp": lambda L: CompressedSensing(decoder="omp", **PLAIN),
    "CS-cosamp": lambda L: CompressedSensing(**PLAIN),
}


#: Those that were tried with the cut for accuracy before; nothing makes ½ the right cut of the last ones.
FOR_ACCURACY = (
    "ridge, chosen", "PLST, chosen", "CPLST, chosen", "CSSP of 0/1, chosen", "FAiE of 0/1, chosen", "LEML, chosen",
    "LLSF, chosen", "LLSF without intercept, chosen", "AdaBoost.MR", "AdaBoost.MR, rounds chosen",
    "ANMF", "MNMF", "MNMF, chosen",
)  # fmt: skip


class Shift(TransformerMixin, BaseEstimator):
    """Subtracts what is below 0 in the training instances from dense features; what is below it later counts as 0."""

    def fit(self, X: Any, y: Any = None) -> "Shift":
        self.low_ = 0 if sparse.issparse(X) else np.minimum(X.min(axis=0), 0)
        return self

    def transform(self, X: Any) -> Any:
        return X if sparse.issparse(X) else np.maximum(X - self.low_, 0)


def before_neighbours(reduction: Any) -> Pipeline:
    """Return a reduction of the features before ML-kNN."""
    return Pipeline([("reduce", reduction), ("mlknn", MLkNN.paper())])


def factors(L: int) -> list[dict[str, list[Any]]]:
    """Return numbers of components and weights of the labels for MNMF; with many components only a small weight."""
    few = {"n_components": [L // 2, L, 2 * L], "beta": [0.1, 0.5, 0.9]}
    return [few, {"n_components": [8 * L], "beta": [0.1]}]


def chosen(made: LabelModel | Pipeline, grid: Any = None) -> Search:
    """Return a search for the settings of the best accuracy on a quarter of the training instances."""
    return Search(made, grid, metric="accuracy", validation=0.25, n_splits=1)


def model_of(made: Made) -> LabelModel:
    """Return the model, which may be the last step of a pipeline, in a search."""
    if isinstance(made, Search):
        made = made.estimator
    return made.steps[-1][1] if isinstance(made, Pipeline) else made


def cut_for_accuracy(made: Made, X: Any, Y: Any, seed: int = 0) -> Made:
    """Return the model with the settings and the cut of the best accuracy on a quarter of the training instances."""
    base, grid = (made.estimator, made.grid) if isinstance(made, Search) else (made, {})
    train, rest = train_test_split(np.arange(X.shape[0]), test_size=0.25, random_state=seed)
    best, found = -1.0, made
    for cell in ParameterGrid(grid):
        model = clone(base).set_params(**cell)
        scores = clone(model).fit(X[train], Y[train]).decision_function(X[rest])
        value, cut = best_cut(Y[rest], scores)
        if value > best:
            best, found = value, model
            model_of(found).set_params(threshold=cut)
    return found


def parts(name: str) -> list[tuple[Any, ...]]:
    """Return features and labels, of training and of test, of both folds."""
    data = load_labels(name.partition(" ")[0])
    found = []
    for train, test in list(KFold(5, shuffle=True, random_state=0).split(np.arange(data.n_instances)))[:2]:
        X, new = data.X[train], data.X[test]
        if "raw" not in name:
            scaler = (Normalizer() if name == "medical" else StandardScaler()).fit(X)
            X, new = scaler.transform(X), scaler.transform(new)
        found.append((X, data.Y[train], new, data.Y[test]))
    return found


def measured(make: Callable[[int], Made], name: str, cut: str, *, n_folds: int = 2, seed: int = 0) -> list[float]:
    """Return the means of the folds: measures, then seconds. The seed draws the quarter, and all that a model draws."""
    found = []
    for X, Y, new, truth in parts(name)[:n_folds]:
        model = make(Y.shape[1])
        model_of(model).set_params(random_state=seed)
        if isinstance(model, Search):
            model.set_params(random_state=seed)
        if cut == "learned":
            model_of(model).set_params(threshold="global")
        began = time.process_time()
        if cut == "for accuracy":
            model = cut_for_accuracy(model, X, Y, seed)
        predicted = model.fit(X, Y).predict(new)
        seconds = time.process_time() - began
        report = label_report(truth, predicted)
        found.append([*(report[measure] for measure in MEASURES), seconds])
    return list(np.mean(found, axis=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=tuple(METHODS))
    parser.add_argument("--plain", action="store_true", help="leave out the learned cut")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", InputWarning)  # of more directions in a grid than there are
    rows = []
    for name in chosen.sets:
        for method in chosen.methods:
            make = METHODS[method]
            joint = model_of(make(2)).threshold == "joint"
            try:
                measured(make, name, "plain", n_folds=1)  # compiles
            except InvalidInputError as refused:  # non-negative factors of features below 0
                print(name, method, refused, sep=" | ", flush=True)
                continue
            alone = joint or chosen.plain or isinstance(make(2), Search)
            cuts = ["plain"] if alone else ["plain", "learned"]
            if method in FOR_ACCURACY and "raw" not in name and not chosen.plain:
                cuts.append("for accuracy")
            for cut in cuts:
                *figures, seconds = measured(make, name, cut)
                digits = (3, 3, 3, 3, 4)
                shown = [without_zero(value, k) for value, k in zip(figures, digits, strict=True)]
                rows.append([name, method, cut, *shown, f"{seconds:.2f}"])
                print(" | ".join(rows[-1]), flush=True)
    text = table(["data", "method", "cut", "accuracy", "example F1", "macro F1", "micro F1", "Hamming", "s"], rows)
    if chosen.methods == tuple(METHODS) and chosen.sets == SETS and not chosen.plain:
        publish("label methods", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
