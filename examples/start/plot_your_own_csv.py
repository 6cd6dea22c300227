"""
Your own CSV
============

A file of ratings, whatever its columns are called, becomes a model in a file, and recommendations in another one.
"""

# %%
# Here is such a file; users and items are words.

import tempfile
from pathlib import Path

from cofactor.datasets import make_ratings, read_ratings, write_table

folder = Path(tempfile.mkdtemp())
made = make_ratings(200, 80, density=0.3, random_state=0)
columns = {
    "who": [f"user{user}" for user in made.X[:, 0]],
    "what": [f"book{item}" for item in made.X[:, 1]],
    "stars": made.y / 2,
}
write_table(folder / "ratings.csv", columns)
print((folder / "ratings.csv").read_text()[:60])

# %%
# Columns are found by their names and their order; where that is not clear, say which they are: ``user="who"``. Half
# stars are fine: the scale is what occurs in the file.

data = read_ratings(folder / "ratings.csv")
print(data, data.scale)

# %%
# The distribution of ratings is worth a look before any model.

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3))
ax.bar(data.scale, data.level_counts(), width=0.35)
ax.set(xlabel="stars", ylabel="number of ratings", xticks=data.scale)
fig.tight_layout()

# %%
# Fit, recommend to all, and write both.

from cofactor.ratings import ALS

model = ALS(n_factors=5, alpha=3, random_state=0).fit(data.X, data.y)
model.save(folder / "books.cofactor")
items, scores = model.recommend(["user7"], n=3)
print(items, scores.round(2))

# %%
# A model is read again without executing anything that the file holds.

import cofactor

cofactor.load(folder / "books.cofactor").predict([("user7", "book3")])

# %%
# The same on the command line::
#
#     cofactor fit ratings.csv --out books.cofactor
#     cofactor recommend books.cofactor --all -n 3 --out lists.csv
