"""
Larger than memory
==================

Ratings in shards by users, and labels in chunks: the same models, to the same bits.
"""

# %%
# A file of ratings is cut into shards, in bounded memory. A killed cut goes on where it was.

import tempfile
from pathlib import Path

from cofactor.datasets import make_ratings, write_table
from cofactor.ratings import ALS, ShardedRatings, append_files, shard_files

folder = Path(tempfile.mkdtemp())
data = make_ratings(2000, 200, density=0.1, random_state=0)
write_table(folder / "ratings.csv", {"user": data.X[:, 0], "item": data.X[:, 1], "rating": data.y})
shard_files(folder / "ratings.csv", folder / "big", 4)

# %%
# A day's file is appended.

write_table(folder / "today.csv", {"user": [5000, 5001], "item": [1, 2], "rating": [4.0, 5.0]})
append_files(folder / "today.csv", folder / "big")

# %%
# A model learns shard by shard. One shard or many: all bits of the result are the same.

settings = dict(n_factors=5, alpha=3, random_state=0)
sharded = ShardedRatings.open(folder / "big")
model = ALS(**settings).fit(sharded)
print(model.V_.shape, model.predict([(0, 3), (5000, 3)]))

# %%
# Labels: chunks of a Parquet file, or any pairs (X, y) that can be read again.

from cofactor.datasets import LabelChunks, make_labels, write_chunks
from cofactor.labels import LabelRidge

parts = [make_labels(500, 30, 6, random_state=k)[0] for k in range(4)]
write_chunks(folder / "rows.parquet", ((part.X, part.Y.toarray()) for part in parts))
chunks = LabelChunks(folder / "rows.parquet", 250)
in_chunks = LabelRidge(kernel="linear", random_state=0).fit(chunks)
print(in_chunks.predict(parts[0].X[:2]))

# %%
# What it costs: bytes of a shard against those of all ratings.

import matplotlib.pyplot as plt

sizes = [len(shard.indices) for shard in sharded]
fig, ax = plt.subplots(figsize=(6, 3.2))
ax.bar([f"shard {k}" for k in range(len(sizes))] + ["all"], [*sizes, sum(sizes)])
ax.set(ylabel="ratings in memory at a time")
fig.tight_layout()
