"""Comparisons in TOML: the example of the documentation runs, and mistakes are told by key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cofactor.datasets import make_labels, make_ratings, write_table
from cofactor.errors import InvalidInputError
from cofactor.evaluation import Search
from cofactor.experiments.declared import read_comparison
from cofactor.labels import BinaryRelevance
from cofactor.ratings import ALS, HMF

DOCUMENT = Path(__file__).parents[2] / "docs" / "comparing.md"
STARS = make_ratings(30, 20, 2, density=0.5, random_state=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of ratings and one of labels."""
    X = STARS.X
    write_table(tmp_path / "ratings.csv", {"user": X[:, 0], "item": X[:, 1], "rating": STARS.y})
    wobble = np.random.default_rng(0).uniform(-0.4, 0.4, len(X))
    write_table(tmp_path / "continuous.tsv", {"stars": STARS.y + wobble, "who": X[:, 0], "what": X[:, 1]})
    labels, _ = make_labels(40, 6, 3, n_groups=2, random_state=0)
    features = {f"x{j}": labels.X[:, j] for j in range(6)}
    write_table(tmp_path / "tags.csv", features | {f"tag{j}": labels.Y.toarray()[:, j] for j in range(3)})
    return tmp_path


def read(folder: Path, text: str) -> Any:
    (folder / "comparison.toml").write_text(text)
    return read_comparison(folder / "comparison.toml")


def test_lists_of_recommendations(folder: Path) -> None:
    text = 'data = {made = "ratings.csv"}\nmethods = [{name = "ALS", parameters = {alpha = 8.0}}]\nn_splits = 1\n'
    comparison = read(folder, text + "at = [5, 3]\nlikes = 4\n").compare()
    assert comparison.metrics == ("ndcg@5", "recall@5", "coverage@5")
    assert comparison.table("ndcg@3").scores.methods == ("popularity", "ALS")
    for line, message in (
        ("at = 5", "at: must be a list, each a whole number, found 5"),
        ('at = [5]\nlikes = "much"', "likes: must be a number, found 'much'"),
        ("at = [5]\nlikes = 9.5", "likes=9.5: no rating of 'made' is that high"),
    ):
        with pytest.raises(InvalidInputError, match=re.escape(message)):
            read(folder, text + line)


def test_the_example_of_the_documentation_runs(folder: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", DOCUMENT.read_text(), flags=re.S)
    declared = read(folder, text)
    assert declared.title == "Which method guesses stars best?"
    assert {name: len(data) for name, data in declared.data.items()} == {"made": 300, "coarse": 300}
    assert declared.data["coarse"].scale.tolist() == [1, 2, 3, 4, 5]
    assert declared.estimators["averaged"].get_params()["estimator__alpha"] == 8.0
    comparison = declared.compare()
    assert comparison.failed == []
    assert comparison.metrics == ("mae", "zero_one")
    assert comparison.table().scores.methods == ("ALS", "ALS, 3 factors", "averaged")
    assert {r.split for r in comparison.results} == {"weak 1", "weak 2"}
    assert {r.seed for r in comparison.results} == {0, 1}
    chosen = {r.measures["parameters"].get("alpha") for r in comparison.results if r.method == "ALS, 3 factors"}
    assert chosen <= {2.0, 8.0, 32.0}


def test_defaults(folder: Path) -> None:
    declared = read(folder, 'data = ["ratings.csv"]\nmethods = [{name = "hmf"}]')
    assert isinstance(declared.estimators["hmf"], HMF)
    assert (declared.splits, declared.n_splits, declared.seeds, declared.metrics) == (None, 3, (0,), None)


def test_labels_choose_parameters_and_thresholds_inside(folder: Path) -> None:
    declared = read(
        folder,
        """
        data = {tags = {file = "tags.csv", labels = "tag"}, emotions = "emotions"}
        grid_metric = "macro_f1"
        methods = [
            {name = "PLST", grid = {alpha = [1, 10]}},
            {name = "learned", model = "plst", parameters = {threshold = "global"}, grid = {alpha = [1, 10]}},
            {name = "BR", model = "binary-relevance", parameters = {estimator = "LinearSVC", estimator__C = 0.1}},
        ]
        """,
    )
    assert declared.data["tags"].n_labels == 3
    assert declared.data["emotions"].n_labels == 6
    assert declared.grids == {}
    plain, learned, relevance = declared.estimators.values()
    assert isinstance(plain, Search)
    assert (plain.metric, plain.thresholds, learned.thresholds) == ("macro_f1", ("auto",), ("global",))
    assert isinstance(relevance, BinaryRelevance)
    assert relevance.estimator.C == 0.1
    (name,) = {type(one).__name__ for one in (plain.estimator, learned.estimator)}
    assert name == "PLST"


def test_a_known_set_goes_before_a_file_of_its_name(folder: Path) -> None:
    (folder / "ml-100k").write_text("user,item,rating\n1,1,3\n")
    declared = read(folder, 'data = ["ml-100k"]\nmethods = [{name = "ALS", parameters = {levels = [1, 2, 3, 4, 5]}}]')
    assert len(declared.data["ml-100k"]) == 100_000
    assert isinstance(declared.estimators["ALS"], ALS)


DATA = 'data = ["ratings.csv"]\n'
ALS_ALONE = 'methods = [{name = "ALS"}]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data = [\n'ratings.csv'\nmethods = []", r"is not TOML: .*\(at line 3, column 1\)"),
        (DATA, "methods: is missing: it says what to compare"),
        (ALS_ALONE, "data: is missing"),
        (DATA + ALS_ALONE + "seed = 3", r"toml: has no key 'seed'; did you mean seeds?"),
        (DATA + ALS_ALONE + "seeds = 3", "seeds: must be a list, each a whole number, found 3"),
        (DATA + ALS_ALONE + "seeds = [true]", "seeds: must be a list, each a whole number"),
        (DATA + ALS_ALONE + "n_splits = 'three'", "n_splits: must be a whole number, found 'three'"),
        (DATA + ALS_ALONE + "splits = 3", "splits: must be a text in quotes, found 3"),
        (DATA + "methods = ['ALS']", r"methods: must be tables, each below a line \[\[methods\]\]"),
        (DATA + "methods = [{parameters = {}}]", "methods, number 1: has no name"),
        (DATA + "methods = [{name = 'AsL'}]", r"methods, number 1 \(AsL\): there is no model 'AsL'; did you mean ALS"),
        (
            DATA + "methods = [{name = 'x', model = 'xyz'}]",
            "there is no model 'xyz'; expected one of ALS, ANMF, AdaBoostMH",
        ),
        (DATA + "methods = [{name = 'ALS', grids = {}}]", "methods, number 1: has no key 'grids'; did you mean grid?"),
        (DATA + "methods = [{name = 'ALS'}, {name = 'ALS'}]", r"number 2 \(ALS\): there is another method of this"),
        (DATA + "methods = [{name = 'ALS'}, {name = 'PLST'}]", r"2 \(PLST\): PLST is for labels, but ALS for ratings"),
        (DATA + "methods = [{name = 'ALS', parameters = {alfa = 8}}]", "ALS has no 'alfa'; did you mean alpha"),
        (DATA + "methods = [{name = 'ALS', parameters = {alpha = -8}}]", r"\(ALS\), parameters: alpha=-8: expected"),
        (DATA + "methods = [{name = 'ALS', parameters = 8}]", r"parameters: must be a table, found 8"),
        (DATA + "methods = [{name = 'ALS', grid = {alfa = [8]}}]", "grid: ALS has no 'alfa'; did you mean alpha"),
        (DATA + "methods = [{name = 'ALS', grid = {alpha = 8}}]", "grid: alpha must be a list of values to try, found"),
        (
            DATA + "methods = [{name = 'Ensemble', parameters = {estimator = 'AML'}}]",
            "there is no estimator 'AML'; did you mean",
        ),
        ('data = 3\nmethods = [{name = "ALS"}]', "data: must be a list of names and files, or a table"),
        (
            'data = {a = 3}\nmethods = [{name = "ALS"}]',
            "data, a: must be the name of a data set or of a file, or a table",
        ),
        (
            'data = ["ml-100"]\nmethods = [{name = "ALS"}]',
            "data, ml-100: ml-100: no such file, and no known data set; ",
        ),
        ('data = ["ml-100"]\nmethods = [{name = "ALS"}]', "did you mean ml-100k, ml-1m"),
        ('data = ["emotions"]\nmethods = [{name = "ALS"}]', "emotions holds labels, but the methods are for ratings"),
        (
            'data = {a = {file = "ratings.csv", usr = "u"}}\nmethods = [{name = "ALS"}]',
            "no option 'usr'; did you mean user?",
        ),
        (
            'data = {a = {file = "ratings.csv", bin = 3}}\nmethods = [{name = "ALS"}]',
            "no option 'bin'; did you mean bins?",
        ),
        (
            'data = {a = {file = "tags.csv", labels = "tag", dorp = ["x0"]}}\nmethods = [{name = "PLST"}]',
            "no option 'dorp'; did you mean drop?",
        ),
        (DATA + ALS_ALONE + "n_splits = 0", r"toml: n_splits=0: expected a whole number of at least 1 for holdout"),
        (DATA + ALS_ALONE + "splits = 'weka'", r"toml: splits='weka' is not known; did you mean weak"),
        (DATA + ALS_ALONE + "metrics = ['mea']", r"toml: metric 'mea' is not known; did you mean mae"),
        (
            DATA + ALS_ALONE + "grid_metric = 'auc'",
            r"toml: grid_metric: metric 'auc' is not known; expected one of mae",
        ),
        (DATA + ALS_ALONE + "seeds = [99999999999]", r"toml: seeds=\[99999999999\]: expected a list of whole numbers"),
        ('data = {a = {file = "tags.csv"}}\nmethods = [{name = "PLST"}]', "(?i)data, a: .*tags.csv: .*with labels"),
        (
            'grid_metric = "mikro_f1"\ndata = ["tags.csv"]\nmethods = [{name = "PLST", grid = {alpha = [1]}}]',
            "grid_metric: there is no metric 'mikro_f1'; did you mean micro_f1",
        ),
    ],
)
def test_mistakes_are_told_by_key(folder: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"comparison\.toml[:,] ") as caught:
        read(folder, text)
    assert re.search(message, str(caught.value)), str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="comparison"):
        read_comparison(tmp_path / "comparison.toml")
