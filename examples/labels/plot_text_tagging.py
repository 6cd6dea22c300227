"""
Tag texts
=========

Words in, tags out: ``TfidfVectorizer`` and a label model in one pipeline, in one file.
"""

# %%
# News articles with tags, made up.

from cofactor.datasets import make_articles

data, articles = make_articles(800, random_state=0)
texts, Y, names = articles.texts, data.Y.toarray(), data.label_names
print(texts[1], articles.tags[1])

# %%
# Any vectorizer of scikit-learn, then any label model.

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from cofactor.labels import LabelRidge

tagger = make_pipeline(TfidfVectorizer(), LabelRidge(random_state=0)).fit(texts[:600], Y[:600])
new = ["The striker scored a goal, and the agent signed the contract."]
chances = tagger.predict_proba(new)[0]
{names[k]: round(chances[k], 2) for k in chances.argsort()[::-1][:3]}

# %%
# Why these tags? The words that speak for them.

words, model = tagger[0].get_feature_names_out(), LabelRidge(kernel="linear", random_state=0)
model.fit(tagger[0].transform(texts[:600]), Y[:600], label_names=names)
why = model.explain(tagger[0].transform(new), ["football", "transfers"], n_terms=3)
for term in why.records():
    if term["kind"] == "feature":
        print(f"{term['label']:9} {words[term['term']]:8} {term['contribution']:+.2f}")

# %%
# Micro-F1 on texts that it did not see, by how many it saw.

import matplotlib.pyplot as plt

from cofactor.metrics import micro_f1

sizes = [75, 150, 300, 600]
scores = [micro_f1(Y[600:], tagger.fit(texts[:n], Y[:n]).predict(texts[600:])) for n in sizes]
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
cofactor.load(path).predict(new)
