"""
First recommendations
=====================

From ratings to a list of films for one person, in four lines.
"""

# %%
# Ratings are rows of user, item and rating. MovieLens 100K is a known data set: it is read from the folder in
# ``COFACTOR_DATA``, or from the cache. Where it is not here, films and ratings are invented.

from cofactor.datasets import DatasetNotFoundError, load_ratings, make_movies

try:
    data = load_ratings("ml-100k", download=False)
except DatasetNotFoundError:
    data, _ = make_movies(600, 800, 40_000, random_state=0)

# %%
# `Recommender` learns two things: what people watch, and what they like once they have watched it. Few sweeps are
# enough here; by default there are 300.

from cofactor.ratings import OrdinalProbit, Recommender

model = Recommender(ratings=OrdinalProbit(n_sweeps=60, burn_in=20), random_state=0).fit(data.X, data.y)
user = data.X[0, 0]
found = model.recommend([user], n=8)
found.to_frame("pandas")

# %%
# An item is ranked by the product of both probabilities: how likely the user watches it, and how likely they then give
# it one of the better ratings.

from cofactor.plots import plot_recommendations

names = [str(data.item_names.get(item, item)) for item in found.items[0]]
plot_recommendations(names, found.p_interact[0], found.p_like[0], title=f"For user {user}")

# %%
# The model also predicts ratings of pairs of user and item.

model.predict([(user, item) for item in found.items[0]])
