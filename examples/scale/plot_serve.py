"""
Serve a model
=============

A model in a file answers over HTTP, on a page to try it, and to whoever asks.
"""

# %%
# A model, as ``cofactor fit`` writes it.

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.request import Request, urlopen

from cofactor.datasets import make_ratings
from cofactor.ratings import ALS

folder = Path(tempfile.mkdtemp())
data = make_ratings(300, 100, density=0.2, random_state=0)
ALS(5, alpha=3, random_state=0).fit(data.X, data.y).save(folder / "books.cofactor")

# %%
# ``cofactor serve books.cofactor`` writes a log of lines of JSON. Port 0 means any that is free; the log says which.

server = subprocess.Popen(
    [sys.executable, "-m", "cofactor", "serve", str(folder / "books.cofactor"), "--port", "0"],
    stderr=subprocess.PIPE,
    text=True,
)
port = None
for line in server.stderr:
    event = json.loads(line)
    port = event.get("port", port)
    if event["event"] == "ready":
        break
address = f"http://127.0.0.1:{port}"

# %%
# Five items for a known user.

with urlopen(f"{address}/v1/users/7/recommendations?n=5") as answer:
    found = json.load(answer)
print(json.dumps(found, indent=1)[:300])

# %%
# A new user, with two ratings, is folded in by the request.

body = {"users": [{"ratings": [{"item": 50, "rating": 5}, {"item": 18, "rating": 1}]}], "n": 5}
with urlopen(Request(f"{address}/v1/recommendations", json.dumps(body).encode())) as answer:
    best = json.load(answer)["lists"][0]["items"]
[one["item"] for one in best]

# %%
# How long does an answer take?

import time

import matplotlib.pyplot as plt
import numpy as np

seconds = []
for user in range(200):
    began = time.perf_counter()
    urlopen(f"{address}/v1/users/{user}/recommendations").read()
    seconds.append(time.perf_counter() - began)
server.terminate()
server.communicate()

fig, ax = plt.subplots(figsize=(6, 3.2))
milliseconds = 1000 * np.array(seconds)
ax.hist(milliseconds[milliseconds <= np.quantile(milliseconds, 0.95)], bins=20)
ax.set(xlabel="milliseconds until an answer, but for the slowest twentieth", ylabel="number of answers")
fig.tight_layout()
