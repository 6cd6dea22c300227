"""
Why this recommendation?
========================

Which of a user's own ratings raise the score of an item, and which lower it.
"""

# %%
# A small MovieLens if it is here, invented films otherwise.

from cofactor.datasets import DatasetNotFoundError, load_ratings, make_movies

try:
    data = load_ratings("ml-latest-small", download=False)
except DatasetNotFoundError:
    data, _ = make_movies(300, 400, 15_000, random_state=0)

# %%
# `EASE` is linear in the items of a user: a score is a sum over them, and each term is a reason.

from cofactor.ratings import ALS, EASE

model = EASE(alpha=300.0).fit(data.X)
user = data.X[0, 0]
items, _ = model.recommend([user], n=3)
why = model.explain(user, items[0])
print(why)

# %%
# The reasons for the first item as a picture.

from cofactor.plots import plot_reasons

plot_reasons(why, items[0, 0], n=8, names=data.item_names)

# %%
# Models of ratings explain too. Here a contribution is how much the score changes if this rating is taken away.

als = ALS(10, alpha=10, random_state=0).fit(data.X, data.y)
why = als.explain(user, als.recommend([user], n=1)[0][0])
plot_reasons(why, n=8, names=data.item_names)
