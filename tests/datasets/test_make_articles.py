"""Made-up news articles with tags."""

import numpy as np
import pytest
from sklearn.model_selection import train_test_split
from tests.together import together

from cofactor.datasets import load_labels, make_articles
from cofactor.labels import BinaryRelevance, LabelRidge, MLkNN
from cofactor.metrics import macro_f1, micro_f1

SPORTS = ["football", "tennis", "cycling", "athletics", "rugby", "swimming", "chess", "rowing"]


@pytest.fixture(scope="module")
def made():
    return make_articles(random_state=0)


def column(data, tag):
    return data.Y.toarray()[:, data.label_names.index(tag)] > 0


def test_the_data_are_those_of_the_texts(made):
    data, articles = made
    assert data.n_instances == len(articles.texts) == len(articles.tags) == 1000
    for k in (0, 7, 999):
        assert {data.label_names[j] for j in data.Y[[k]].indices} == set(articles.tags[k])
        words = {data.feature_names[j].removeprefix("text:") for j in data.X[[k]].indices}
        assert words <= {word.strip(".,").lower() for word in articles.texts[k].split()}
    assert all(text[0].isupper() and text.endswith(".") for text in articles.texts)


def test_statistics_are_like_those_of_real_sets(made):
    """Ranges that hold medical, llog, ohsumed, bibtex and yahoo-arts, or most of these: see benchmarks/articles.py."""
    data, _ = made
    counts = np.asarray(data.Y.sum(axis=0)).ravel()
    words = np.diff(data.X.indptr)
    assert 90 <= data.n_labels <= 95
    assert 1.2 < data.cardinality < 3
    assert 0.1 < counts.max() / 1000 < 0.3
    assert 0.007 < np.median(counts) / 1000 < 0.05
    assert 0.15 < np.mean(counts < 10) < 0.5
    assert 20 < np.median(words) < 40
    assert np.percentile(words, 90) > 3 * np.percentile(words, 10)
    assert 900 < data.n_features < 2000


def test_tags_go_together_or_exclude_each_other(made):
    data, _ = made
    assert np.mean(column(data, "sport")[column(data, "football")]) > 0.7
    assert np.mean(column(data, "sport")) < 0.3
    sports = np.column_stack([column(data, tag) for tag in SPORTS if tag in data.label_names])
    assert sports.sum(axis=1).max() == 1
    both = column(data, "football") & column(data, "transfers")
    assert both.mean() > 3 * column(data, "football").mean() * column(data, "transfers").mean()


def test_annotators_forget_some_tags_but_not_all():
    _, articles = make_articles(600, forgotten=0.3, random_state=0)
    kept = sum(map(len, articles.tags))
    of = sum(map(len, articles.about))
    assert all(articles.tags)
    assert kept - 600 == pytest.approx(0.7 * (of - 600), rel=0.08)
    _, whole = make_articles(100, forgotten=0, random_state=0)
    assert whole.tags == whole.about


def test_the_same_seed_writes_the_same():
    (first, one), (second, two) = make_articles(60, random_state=3), make_articles(60, random_state=3)
    assert one.texts == two.texts
    assert one.tags == two.tags
    assert (first.X != second.X).nnz == 0
    assert make_articles(60, random_state=4)[1].texts != one.texts
    assert np.mean([len(text) for text in make_articles(60, length=12, random_state=3)[1].texts]) > 1.5 * np.mean(
        [len(text) for text in one.texts]
    )


def test_models_tag_new_texts_from_a_frame(made):
    pd = pytest.importorskip("pandas")
    data, _ = made
    model = LabelRidge(random_state=0).fit(data.take(np.arange(500)))
    chances = model.predict_proba(pd.DataFrame({"text": ["The striker scored a goal before the penalty."]}))[0]
    assert data.label_names[int(np.argmax(chances))] in ("sport", "football")


def test_a_table_of_texts_and_tags_is_read_alike(made):
    pd = pytest.importorskip("pandas")
    data, articles = made
    frame = pd.DataFrame({"text": articles.texts, "tags": ["|".join(tags) for tags in articles.tags]})
    again = load_labels(frame, labels="tags", label_sep="|", text="text")
    assert set(again.label_names) == set(data.label_names)
    assert again.feature_names == data.feature_names


def test_models_do_as_on_real_sets(made):
    """Joint ridge regression is ahead of a classifier for each tag, a little, and neighbours are behind."""
    data, _ = made
    X, X_new, Y, Y_new = train_test_split(data.X, data.Y, test_size=0.4, random_state=0)
    all_predicted = [kind(random_state=0).fit(X, Y).predict(X_new) for kind in (LabelRidge, BinaryRelevance, MLkNN)]
    ridge, alone, near = ((micro_f1(Y_new, predicted), macro_f1(Y_new, predicted)) for predicted in all_predicted)
    assert 0.45 < ridge[0] < 0.7
    assert 0.25 < ridge[1] < 0.5
    assert 0 < ridge[0] - alone[0] < 0.06
    assert 0.01 < ridge[0] - near[0] < 0.15


@together(
    ("options", "message"),
    [
        ({"n_articles": 9}, "n_articles=9: expected a whole number of at least 10"),
        ({"length": 0}, "length=0: expected a number of at least 1"),
        ({"forgotten": 1.5}, "forgotten=1.5: expected a number of at least 0 and at most 1"),
        ({"off_topic": -0.1}, "off_topic=-0.1: expected a number of at least 0"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        make_articles(**options)
