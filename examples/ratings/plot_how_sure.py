"""
How sure is it?
===============

A probability for each rating, and a test whether these probabilities hold.
"""

# %%
# `OrdinalProbit` draws from the posterior of all its unknowns, so it knows what it does not know.

from sklearn.model_selection import train_test_split

from cofactor.datasets import make_movies
from cofactor.ratings import OrdinalProbit

data, _ = make_movies(400, 500, 20_000, random_state=0)
X, X_new, y, y_new = train_test_split(data.X, data.y, test_size=0.2, random_state=0)
model = OrdinalProbit(5, n_sweeps=150, burn_in=50, random_state=0).fit(X, y)

# %%
# Two predictions of the same rating can differ in how sure they are.

probabilities = model.predict_proba(X_new)
probabilities[:3].round(2)

# %%
# Are they right? Predictions are sorted into bins by their probability; in each bin the share of right ones should be
# that probability.

from cofactor.plots import plot_reliability

plot_reliability(y_new, probabilities, model.scale_, n_bins=8)

# %%
# The same in numbers.

from cofactor.metrics import probability_report

probability_report(y_new, probabilities, model.scale_)

# %%
# Lists can use it: ``at_least`` ranks by the probability of a good rating, ``quantile`` gives uncertain items a chance.

user = X_new[0, 0]
for what, wish in {"likely liked": {"at_least": 4}, "perhaps great": {"quantile": 0.9}}.items():
    items, _ = model.recommend([user], n=5, **wish)
    print(f"{what}: {', '.join(data.item_names[item] for item in items[0])}")
