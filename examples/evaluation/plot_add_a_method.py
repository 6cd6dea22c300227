"""
Add a method
============

Two methods of a class make a label model, with everything that the others have.
"""

# %%
# This one regresses each label on the features, by ridge regression. The base class checks input, scales features,
# calibrates probabilities, decides, saves; the model says which parameters it has, how it learns, and what its scores
# are.

from numpy.typing import NDArray

from cofactor.checks import number
from cofactor.labels import TrainingData, LabelModel
from cofactor.model import estimator


class Mine(LabelModel):
    """Ridge regression of each label."""

    alpha: float = estimator.param(number(low=0), default=1.0, kw_only=False)  # beside those that all models have

    coef_: NDArray = estimator.learned("features labels")  # a file holds it; one with other shapes is refused
    intercept_: NDArray = estimator.learned("labels")

    def _fit(self, data: TrainingData):
        self.coef_, intercept = data.feature_space().ridge(data.labels, self.alpha)
        self.intercept_ = intercept - 0.5  # labels are 0 and 1

    def _scores(self, X):  # a label is on where its score is above 0
        return X @ self.coef_ + self.intercept_


# %%
# It is an estimator like any other: here beside two of the package.

from cofactor.datasets import make_labels
from cofactor.evaluation import evaluate_labels
from cofactor.labels import PLST, MLkNN

data, _ = make_labels(400, 40, 10, random_state=0)
results = {
    type(model).__name__: evaluate_labels(model, data.X, data.Y, 3)
    for model in (Mine(random_state=0), PLST(random_state=0), MLkNN(random_state=0))
}

# %%
from cofactor.plots import plot_splits

plot_splits(
    {name: [row["micro_f1"] for row in rows if row["decoding"] != "plain"] for name, rows in results.items()},
    metric="micro-F1",
)

# %%
# To make it a part of the package: its file, its import and its name in the registry, and a line for the contract
# tests. :doc:`../../adding-a-method` has the steps.
