"""
Tag texts
=========

Words in, tags out: ``TfidfVectorizer`` and a label model in one pipeline, in one file.
"""

# %%
# Short reports, made of the words of their topics.

import numpy as np

rng = np.random.default_rng(0)
topics = {
    "sea": "wave tide beach boat salt harbour",
    "ski": "snow slope lift ice boots glove",
    "weather": "rain sun wind cloud storm fog",
    "food": "bread soup cheese apple pepper fish",
}
names = list(topics)


def report(tags):
    words = [word for k in np.flatnonzero(tags) for word in rng.choice(topics[names[k]].split(), 4)]
    return " ".join(rng.permutation([*words, *rng.choice(["we", "then", "the", "day", "with", "some", "one"], 5)]))


Y = (rng.random((400, 4)) < 0.35).astype(int)
Y[Y.sum(axis=1) == 0, 2] = 1
texts = [report(tags) for tags in Y]
print(texts[0], Y[0])

# %%
# Any vectorizer of scikit-learn, then any label model.

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from cofactor.labels import LabelRidge

tagger = make_pipeline(TfidfVectorizer(), LabelRidge(random_state=0)).fit(texts[:300], Y[:300])
tagger.predict(["a boat on a wave, then rain"])

# %%
# Why these tags? The words that speak for them.

words, model = tagger[0].get_feature_names_out(), LabelRidge(kernel="linear", random_state=0)
model.fit(tagger[0].transform(texts[:300]), Y[:300], label_names=names)
why = model.explain(tagger[0].transform(["a boat on a wave, then rain"]), n_terms=3)
for term in why.records():
    if term["kind"] == "feature":
        print(f"{term['label']:8} {words[term['term']]:8} {term['contribution']:+.2f}")

# %%
# Micro-F1 on texts that it did not see, by how many it saw.

import matplotlib.pyplot as plt

from cofactor.metrics import micro_f1

sizes = [10, 20, 40, 80]
scores = [micro_f1(Y[300:], tagger.fit(texts[:n], Y[:n]).predict(texts[300:])) for n in sizes]
fig, ax = plt.subplots(figsize=(6, 3.5))
ax.plot(sizes, scores, "o-")
ax.set(xlabel="texts in training", ylabel="micro-F1 on new texts")
fig.tight_layout()

# %%
# ``cofactor.save`` writes the vectorizer and the model into one file, which ``cofactor serve`` can serve.

import tempfile
from pathlib import Path

import cofactor

path = Path(tempfile.mkdtemp(), "tagger.cofactor")
cofactor.save(tagger, path)
cofactor.load(path).predict(["cheese and soup in the snow"])
