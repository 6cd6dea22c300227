"""
Choose settings
===============

By the model itself, by ``GridSearchCV``, or by `Search`, which knows the values worth a try.
"""

# %%
# ``alpha="auto"`` is the default of models with a penalty: it is searched by validation before the fit.

from cofactor.datasets import make_ratings
from cofactor.ratings import ALS

data = make_ratings(300, 100, density=0.3, random_state=0)
model = ALS(5, random_state=0).fit(data.X, data.y)
print(model.alpha_)

# %%
# Models are estimators of scikit-learn: its searches work as they are, with its splitters, such as
# `~cofactor.evaluation.KFold`, or with one of the package, which here holds out one rating of each user.

from sklearn.model_selection import GridSearchCV

from cofactor.evaluation import WeakGeneralization
from cofactor.plots import plot_validation

alphas = [0.3, 1.0, 3.0, 10.0, 30.0]
grid = GridSearchCV(
    ALS(5, random_state=0),
    {"alpha": alphas},
    cv=WeakGeneralization(3, random_state=0),
    scoring="neg_mean_absolute_error",
)
grid.fit(data.X, data.y)
plot_validation(
    alphas,
    -grid.cv_results_["mean_test_score"],
    grid.cv_results_["std_test_score"],
    grid.best_params_["alpha"],
    score="MAE",
)

# %%
# `Search` asks the model which values to try, and chooses for label models how scores are cut as well.

from cofactor.datasets import make_labels
from cofactor.evaluation import Search
from cofactor.labels import MLkNN

labels, _ = make_labels(300, 30, 8, random_state=0)
search = Search(MLkNN(random_state=0), {"n_neighbors": [5, 10, 20]}, thresholds=("plain", "global")).fit(
    labels.X, labels.Y
)
print(search.best_params_, search.best_)
