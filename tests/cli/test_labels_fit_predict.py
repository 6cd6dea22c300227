"""fit and predict on features and labels: every format, names, streams, forms of output, bad input."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.together import together

import cofactor
from cofactor.datasets import LabelDataset, load_labels, make_labels, write_libsvm, write_table
from cofactor.labels import MODELS, PLST
from cofactor.service import sniff
from cofactor.service.labels import LabelTask
from cofactor.service.results import Settings

FAST = ["-m", "plst", "--alpha", 1]


@pytest.fixture(scope="module")
def tags() -> LabelDataset:
    data, _ = make_labels(80, 6, 4, n_groups=2, n_factors=2, random_state=0)
    return data


def columns(data: LabelDataset) -> dict[str, np.ndarray]:
    X, Y = np.asarray(data.X), data.Y.toarray()
    named = {f"f{j}": X[:, j] for j in range(X.shape[1])}
    return named | {f"tag {'abcd'[k]}": Y[:, k] for k in range(Y.shape[1])}


@pytest.fixture
def table(tags: LabelDataset, tmp_path: Path) -> Path:
    path = tmp_path / "tags.csv"
    write_table(path, columns(tags))
    return path


@pytest.fixture
def arff(tags: LabelDataset, tmp_path: Path) -> Path:
    path = tmp_path / "tags.arff"
    named = columns(tags)
    head = "@relation tags\n" + "".join(
        f"@attribute '{name}' {'{0,1}' if 'tag' in name else 'numeric'}\n" for name in named
    )
    rows = zip(*(column.tolist() for column in named.values()), strict=True)
    path.write_text(head + "@data\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows))
    names = "".join(f'<label name="{name}"></label>' for name in named if "tag" in name)
    path.with_suffix(".xml").write_text(f'<labels xmlns="http://mulan.sourceforge.net/labels">{names}</labels>')
    return path


@pytest.fixture
def fitted(fit_once, table: Path, tmp_path: Path) -> Path:
    return fit_once(table, "--labels", "tag", *FAST, out=tmp_path / "tags.cofactor")


def built(name: str, **settings: Any) -> Any:
    return LabelTask().build(name, Settings(**settings)).model


def predicted(data: LabelDataset) -> np.ndarray:
    """What the library predicts with the settings of FAST."""
    return PLST(alpha=1.0, random_state=0).fit(data.X, data.Y).predict(data.X).toarray()


# ---------------------------------------------------------------- fit


def test_every_format_gives_the_same_model(run, tags: LabelDataset, table: Path, arff: Path, tmp_path: Path) -> None:
    from scipy.io import savemat

    svm, mat, parquet = tmp_path / "t.svm", tmp_path / "t.mat", tmp_path / "t.parquet"
    write_libsvm(svm, tags.X, tags.Y)
    savemat(mat, {"data": np.asarray(tags.X), "target": tags.Y.T.toarray()})
    write_table(parquet, columns(tags))
    expected = predicted(tags)
    cases = {table: ["--labels", "tag"], parquet: ["--labels", "-4"], arff: [], svm: [], mat: []}
    for path, options in cases.items():
        out = tmp_path / "m.cofactor"
        facts = run("fit", path, *options, *FAST, "-o", out, "--json").json
        assert (facts["instances"], facts["features"], facts["labels"]) == (80, 6, 4)
        found = run("predict", out, path, "--json").json_lines
        on = np.array([[name in row["labels"] for name in cofactor.load(out).label_names_] for row in found])
        np.testing.assert_array_equal(on, expected, err_msg=str(path))


def test_labels_by_list_xml_and_number(run, table: Path, arff: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.cofactor"
    for options, names in (
        (["--labels", "tag a,tag c", "--drop", "tag b,tag d"], ["tag a", "tag c"]),
        (["--labels", "-2", "--drop", "tag a,tag b"], ["tag c", "tag d"]),
    ):
        assert run("fit", table, *options, *FAST, "-o", out).status == 0
        assert cofactor.load(out).label_names_.tolist() == names
    moved = arff.with_name("elsewhere.xml")
    arff.with_suffix(".xml").rename(moved)
    assert "say it with --labels" in run("fit", arff, *FAST).error
    assert run("fit", arff, "--xml", moved, *FAST, "-o", out).status == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@together("name", [name for name in MODELS if name != "BinaryRelevance"])
def test_every_model_fits_and_predicts(run, name: str, tags: LabelDataset, tmp_path: Path) -> None:
    """The registry is walked: a new model works here without a word about it."""
    by_name = {kind.__name__: shown for shown, kind in LabelTask().models().items()}
    table, out = tmp_path / "few.csv", tmp_path / "m.cofactor"
    write_table(table, columns(tags.take(np.arange(24))))
    least = {"n_estimators": 2, "max_iter": 3}
    few = [f"--param={key}={value}" for key, value in least.items() if key in MODELS[name]().get_params(deep=False)]
    assert run("fit", table, "--labels", "tag", "-m", by_name[name], *few, "-o", out).status == 0
    assert type(cofactor.load(out)) is MODELS[name]
    assert len(run("predict", out, table).rows) == 24


@pytest.mark.parametrize("name", ["plst", "mlknn"])
def test_the_model_chooses_what_is_not_said_as_it_does_in_python(
    run, tags: LabelDataset, table: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "m.cofactor"
    facts = run("fit", table, "--labels", "tag", "-m", name, "-o", out, "--json").json
    model = LabelTask().models()[name](random_state=0).fit(np.asarray(tags.X), tags.Y.toarray())
    assert facts["chosen"]["scale"] == model.scaling_.kind
    if name == "plst":
        assert facts["chosen"]["alpha"] == model.alpha_
    found = run("predict", out, table, "--form", "table").rows
    expected = model.predict(np.asarray(tags.X))
    assert [[int(v) for k, v in row.items() if k != "instance"] for row in found] == expected.tolist()


def test_parameters_by_name(run) -> None:
    params = {"estimator": "LogisticRegression", "estimator__C": 0.1}
    model = built("binary-relevance", options={"threshold": "per-label"}, params=params)
    assert (type(model.estimator).__name__, model.estimator.C, model.threshold) == (
        "LogisticRegression", 0.1, "per-label",
    )  # fmt: skip
    model = built("GroPLE", factors=7, params={"n_groups": 3})
    assert (model.n_components, model.n_groups) == (7, 3)


# ---------------------------------------------------------------- predict


def test_forms_of_output(run, tags: LabelDataset, fitted: Path, table: Path, tmp_path: Path) -> None:
    model, expected = cofactor.load(fitted), predicted(tags)
    names = model.label_names_.tolist()
    found = run("predict", fitted, table).rows
    assert [row["labels"].split(";") for row in found if row["labels"]] == [
        [names[k] for k in np.flatnonzero(row)] for row in expected if row.any()
    ]
    assert [row["instance"] for row in found[:3]] == ["1", "2", "3"]
    found = run("predict", fitted, table, "--form", "table").rows
    assert [[int(row[name]) for name in names] for row in found] == expected.tolist()
    del model.feature_names_in_
    scores = model.decision_function(np.asarray(tags.X))
    found = run("predict", fitted, table, "--scores").rows
    np.testing.assert_allclose([[float(row[name]) for name in names] for row in found], scores)
    found = run("predict", fitted, table, "--top", 2).rows
    assert [row["label"] for row in found] == [names[k] for row in np.argsort(-scores, axis=1)[:, :2] for k in row]
    lines = run("predict", fitted, table, "--json", "--top", 1).json_lines
    assert lines[0]["top"][0] == {"label": found[0]["label"], "score": float(found[0]["score"])}
    lines = run("predict", fitted, table, "--json", "--scores").json_lines
    assert lines[5]["scores"][names[0]] == pytest.approx(scores[5, 0])
    out = tmp_path / "x.parquet"
    written = run("predict", fitted, table, "-o", out, "--json").json
    assert written == {"out": str(out), "rows": 80, "warnings": [], "notes": []}


def test_probabilities_of_labels(run, fitted: Path, tags: LabelDataset, table: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    assert run("fit", table, "--labels", "tag", *FAST, "--threshold", 0, "-o", cut).status == 0
    error = run("predict", cut, table, "--proba").error
    assert error == f"--proba: {cut} cuts scores and has learned no probabilities; fit with --threshold auto"
    model = cofactor.load(fitted)
    names = model.label_names_.tolist()
    del model.feature_names_in_
    chances = model.predict_proba(np.asarray(tags.X))
    found = run("predict", fitted, table, "--proba").rows
    np.testing.assert_allclose([[float(row[name]) for name in names] for row in found], chances)
    lines = run("predict", fitted, table, "--proba", "--json").json_lines
    assert lines[5]["probabilities"] == pytest.approx(dict(zip(names, chances[5], strict=True)))
    best = run("predict", fitted, table, "--proba", "--top", 1).rows
    assert [float(row["probability"]) for row in best] == pytest.approx(chances.max(axis=1).tolist())
    assert "leave out --scores" in run("predict", fitted, table, "--proba", "--scores").error


def test_sets_of_a_stated_coverage(run, fitted: Path, tags: LabelDataset, table: Path, tmp_path: Path) -> None:
    model = cofactor.load(fitted)
    del model.feature_names_in_
    expected = model.predict_set(np.asarray(tags.X), coverage=0.8).toarray()
    found = run("predict", fitted, table, "--coverage", 0.8, "--form", "table").rows
    assert [[int(row[name]) for name in model.label_names_] for row in found] == expected.tolist()
    assert run("predict", fitted, table, "--coverage", 0.8, "--top", 2).error.endswith("leave out --top")
    assert "at most 1" in run("predict", fitted, table, "--coverage", 80).error
    assert run("fit", table, "--labels", "tag", *FAST, "--threshold", 0, "-o", tmp_path / "cut").status == 0
    error = run("predict", tmp_path / "cut", table, "--coverage", 0.8).error
    assert error.endswith("has learned no probabilities from held-out instances; fit it with --threshold auto")


def test_decisions_for_a_precision_and_a_number_of_labels(
    run, fitted: Path, tags: LabelDataset, table: Path, tmp_path: Path
) -> None:
    model = cofactor.load(fitted)
    del model.feature_names_in_
    X, own = np.asarray(tags.X), tmp_path / "own"

    def on(*arguments: Any) -> list[list[int]]:
        rows = run("predict", *arguments, "--form", "table").rows
        return [[int(row[name]) for name in model.label_names_] for row in rows]

    expected = model.set_decision(precision=0.8, at_most=1).predict(X).toarray().tolist()
    assert on(fitted, table, "--precision", 0.8, "--at-most", 1) == expected
    assert run("fit", table, "--labels", "tag", *FAST, "--precision", 0.8, "--at-most", 1, "-o", own).status == 0
    assert on(own, table) == expected
    assert on(own, table, "--costs", "1,4") == model.set_decision(costs=(1, 4)).predict(X).toarray().tolist()
    assert "for a precision of 0.8; at most 1 label" in " ".join(run("info", own).out.split())
    found = run("evaluate", table, "--labels", "tag", *FAST, "--recall", 0.8, "--json").json["summary"]
    assert {"micro_precision", "micro_recall"} <= set(next(iter(found.values())))
    assert run("predict", fitted, table, "--precision", 0.8, "--proba").error.endswith("leave out --precision")
    error = run("fit", table, "--labels", "tag", "--precision", 0.8, "--threshold", 0, "-o", own).error
    assert error.endswith("leave out --threshold 0")
    assert "costs" in run("fit", table, "--labels", "tag", "--costs", "one", "-o", own).error


def test_features_are_matched_by_name(run, tags: LabelDataset, fitted: Path, tmp_path: Path) -> None:
    whole = columns(tags)
    shuffled = {name: whole[name] for name in ("f3", "f0", "tag b", "f5", "f1", "f2", "f4")}
    path = tmp_path / "new.tsv"
    write_table(path, shuffled)
    expected = predicted(tags)
    found = run("predict", fitted, path, "--form", "table", "-o", "-").rows
    assert [int(row["tag b"]) for row in found] == expected[:, 1].tolist()
    write_table(path, {name: whole[name] for name in ("f3", "f0", "f5", "f1", "f2")})
    assert run("predict", fitted, path).error == (
        f"{path}: no column 'f4'; the model was trained on 6 columns; add such a column: empty cells are filled as in "
        "training"
    )


def test_tables_without_header(run, tags: LabelDataset, tmp_path: Path) -> None:
    X, Y = np.asarray(tags.X), tags.Y.toarray()
    train, new = tmp_path / "train.csv", tmp_path / "new.csv"
    np.savetxt(train, np.hstack([Y, X]), delimiter=",", fmt="%.17g")
    np.savetxt(new, X, delimiter=",", fmt="%.17g")
    out = tmp_path / "m.cofactor"
    assert run("fit", train, "--labels", 4, *FAST, "-o", out).status == 0
    first = run("predict", out, train, "--form", "table")
    assert run("predict", out, new, "--form", "table").out == first.out
    assert [[int(v) for k, v in row.items() if k != "instance"] for row in first.rows] == predicted(tags).tolist()


def test_shorter_libsvm_file(run, tags: LabelDataset, tmp_path: Path) -> None:
    """Features that no new instance has are zeros."""
    train, new, out = tmp_path / "t.svm", tmp_path / "n.svm", tmp_path / "m.cofactor"
    write_libsvm(train, tags.X, tags.Y, header=False, zero_based=False)
    new.write_text("1:0.5 2:1\n")
    assert run("fit", train, *FAST, "-o", out).status == 0
    (line,) = run("predict", out, new, "--json", "--scores", "--one-based").json_lines
    model = cofactor.load(out)
    del model.feature_names_in_
    expected = model.decision_function([[0.5, 1, 0, 0, 0, 0]])[0]
    assert list(line["scores"].values()) == pytest.approx(expected.tolist())


@pytest.mark.parametrize("header", [False, True])
@pytest.mark.filterwarnings("default:.*did not occur in training")  # which the command shows
def test_new_labels_of_a_libsvm_file_are_left_out(run, tags: LabelDataset, tmp_path: Path, header: bool) -> None:
    """The label was out of range, though predictions need no labels."""
    train, new, out = tmp_path / "t.svm", tmp_path / "n.svm", tmp_path / "m.cofactor"
    write_libsvm(train, tags.X, tags.Y, header=header, zero_based=header)
    assert run("fit", train, *FAST, "-o", out).status == 0
    expected = run("predict", out, train)
    more = np.hstack([tags.Y.toarray(), np.zeros((len(tags), 2), dtype=int), np.ones((len(tags), 1), dtype=int)])
    write_libsvm(new, tags.X, more, header=header, zero_based=header)
    told = run("predict", out, new)
    assert (told.status, told.out, expected.err) == (0, expected.out, "")
    assert f"'y{tags.n_labels + 2 + (not header)}' did not occur in training, and is left out" in told.err


def test_a_pipeline_predicts_for_features(run, tags: LabelDataset, table: Path, tmp_path: Path) -> None:
    unnamed, named, bare = tmp_path / "p.cofactor", tmp_path / "named.cofactor", tmp_path / "bare.csv"
    frame = pd.DataFrame(columns(tags))
    X, Y = frame.filter(like="f"), frame.filter(like="tag")
    pipeline = make_pipeline(StandardScaler(), PLST(1.0)).fit(X, Y)
    cofactor.save(pipeline, named)
    told = run("predict", named, table, "--form", "table")
    assert pd.read_csv(io.StringIO(told.out)).drop(columns="instance").equals(pipeline.predict(X).astype(int))
    assert {row["term"] for row in run("explain", named, table).rows if row["kind"] == "feature"} <= {*X.columns}
    assert "Pipeline learns from all instances at once" in run("update", named, table).error
    assert "--text is for pipelines that take texts" in run("predict", named, table, "--text", "f0").error
    cofactor.save(make_pipeline(StandardScaler(), PLST(1.0)).fit(X.to_numpy(), Y), unnamed)  # by position
    assert "has 10 features" in run("predict", unnamed, table).error
    X.to_csv(bare, index=False)
    assert run("predict", unnamed, bare, "--form", "table").out == told.out
    X.assign(f0=[None, *X["f0"][1:]]).to_csv(bare, index=False)
    assert "have no value, and a pipeline keeps nothing to fill them with" in run("predict", unnamed, bare).error


def test_a_pipeline_predicts_for_texts(run, tmp_path: Path) -> None:
    texts = ["waves at the beach", "snow on the slope", "beach, waves", "rain, snow"] * 3
    Y = pd.DataFrame({"sea": [1, 0, 1, 0] * 3, "ski": [0, 1, 0, 1] * 3})
    out = tmp_path / "p.cofactor"
    cofactor.save(make_pipeline(TfidfVectorizer(), PLST(1.0)).fit(texts, Y), out)
    posts = pd.DataFrame({"number": range(7, 19), "body": texts})
    for file, frame in {"alone.csv": posts[["body"]], "posts.csv": posts, "tagged.csv": posts.join(Y)}.items():
        frame.to_csv(tmp_path / file, index=False)
    expected = ["sea", "ski", "sea", "ski"] * 3
    assert [row["labels"] for row in run("predict", out, tmp_path / "alone.csv").rows] == expected
    named = run("predict", out, tmp_path / "tagged.csv", "--id", "number").rows
    assert [(row["number"], row["labels"]) for row in named] == [(str(7 + k), one) for k, one in enumerate(expected)]
    assert [row["labels"] for row in run("predict", out, tmp_path / "posts.csv", "--text", "body").rows] == expected
    assert run("predict", out, tmp_path / "posts.csv").error == (
        f"{tmp_path / 'posts.csv'}: has 2 columns that may hold the texts ('number', 'body'); say which with --text"
    )
    assert run("explain", out, tmp_path / "alone.csv").rows[0]["term"] in ("at", "beach", "waves")


@pytest.mark.processes
def test_standard_streams(run, start, arff: Path, table: Path, fitted: Path, tmp_path: Path) -> None:
    expected = run("predict", fitted, table).out
    assert run("predict", fitted, "-", stdin=table.read_bytes()).out == expected
    assert run("predict", "-", table, stdin=fitted.read_bytes()).out == expected
    child = start("fit", "-", "--xml", arff.with_suffix(".xml"), *FAST, "-o", "-")
    made, err = child.communicate(arff.read_bytes(), timeout=120)
    assert child.returncode == 0
    assert err.startswith(b"PLST fitted to standard input")
    (tmp_path / "piped").write_bytes(made)
    assert run("predict", tmp_path / "piped", table).out == expected
    assert "cannot both be standard input" in run("predict", "-", "-").error


def test_known_data_set_and_learned_threshold(run, data_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "emotions.cofactor"
    facts = run("fit", "emotions", "--threshold", "per-label", "-o", out, "--json").json
    assert (facts["model"], facts["data"], len(facts["threshold"])) == ("LabelRidge", "emotions", 6)
    assert 0.6 < facts["held_out_micro_f1"] < cofactor.load(out).score(load_labels("emotions")) - 0.01
    assert run("info", out, "--json").json["held_out_micro_f1"] == facts["held_out_micro_f1"]
    assert f"held-out micro-F1  {facts['held_out_micro_f1']:.4f}" in run("info", out).out
    assert "micro-F1" not in run("fit", "emotions", "--threshold", 0, "-o", out).out  # no scores were held out
    file = data_dir / "multilabel" / "emotions" / "emotions.arff.gz"
    assert run("predict", out, file).out == run("predict", out, "emotions").out


# ---------------------------------------------------------------- what is refused


def test_options_of_the_other_task(run, table: Path, csv: Path, fitted: Path, model: Path) -> None:
    assert (
        run("fit", table, "--labels", "tag", "--bins", 3).error
        == "--bins is for ratings and --labels for labels: leave one out"
    )
    assert (
        run("fit", csv, "--task", "ratings", "--xml", "a.xml").error == f"--xml is for labels, but {csv} holds ratings"
    )
    assert run("predict", fitted, table, "--user", "f0").error == f"--user is for ratings, but {fitted} holds labels"
    assert run("predict", model, csv, "--top", 3).error == f"--top is for labels, but {model} holds ratings"
    assert "recommends no items" in run("recommend", fitted, "--all").error
    assert run("fit", "emotions", "--task", "ratings").error.startswith("emotions holds labels, not ratings")
    assert run("fit", "ml-100k", "--task", "labels").error.startswith("ml-100k holds ratings, not labels")


def test_a_table_of_texts_and_tags_is_not_one_of_ratings_by_its_place(run, tmp_path: Path) -> None:
    rows = "".join(f"{k},printer {k} is broken,it|urgent|floor {k}\n" for k in range(30))
    (tmp_path / "tickets.csv").write_text(f"id,body,tags\n{rows}")
    error = run("fit", tmp_path / "tickets.csv").error
    assert "column 'tags': expected a number, found 'it|urgent|floor 0'; if it holds texts with tags" in error
    (tmp_path / "ratings.csv").write_text("user,item,rating\n1,2,3\n1,3,x\n")
    assert "labels" not in run("fit", tmp_path / "ratings.csv").error


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,tag\n1,0\n2,x\n", ["--labels", "tag"], "line 3, column 'tag': expected a label, 0/1, -1/+1"),
        ("a,tag\n1,0\n2\n", ["--labels", "tag"], "line 3"),
        ("a,tag\n1,0.5\n2,1\n", ["--labels", "tag"], "line 2, column 'tag': expected a label"),
        ("a,tag\n1,0\n2,1\n", ["--labels", "zz"], "no column begins with --labels zz"),
        ("", ["--labels", "tag"], "the file is empty"),
        ("@relation x\n@attribute a numeric\n@attribute b {0,1}\n@data\n1,0\n2\n", ["--labels", "b"], "line 6"),
        ("0,1 1:2\n0 1:x\n", [], "line 2"),
    ],
)
def test_bad_files(run, tmp_path: Path, content: str, options: list[str], message: str) -> None:
    path = tmp_path / "bad"
    path.write_text(content)
    for name, stdin in ((str(path), b""), ("-", content.encode())):
        task = ["--task", "labels"] if name == "-" else []
        error = run("fit", name, *options, *task, *FAST, "-o", tmp_path / "m", stdin=stdin).error
        assert message in error
        assert error.startswith("standard input" if name == "-" else name)
    assert not (tmp_path / "m").exists()


def test_xml_naming_a_label_the_file_lacks(run, arff: Path) -> None:
    xml = arff.with_suffix(".xml")
    xml.write_text(xml.read_text().replace("tag a", "tag z"))
    assert "has no attribute 'tag z'" in run("fit", arff).error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-m", "nonsense"], "--model nonsense: not a known model; expected one of"),
        (["--threshold", "best"], "--threshold best: expected a finite number, or one of 'auto', 'global',"),
        (["--threshold", "0.5", "--decide-for", "macro"], "--decide-for macro: --threshold 0.5 does not look at it;"),
        (["--param", "x=1"], "--param x: LabelRidge has no such parameter"),
        (["--param", "threshold=joint"], "--param threshold: write --threshold joint"),
        (["-m", "mlknn", "--alpha", "3"], "--alpha 3: MLkNN has no such parameter; leave the option out"),
        (["--alpha", "-3"], "--alpha -3: expected"),
        (["--xml", "x.xml"], "--labels and --xml both say which columns are labels"),
        (["--zero-based"], "--zero-based is for libsvm files"),
    ],
)
def test_bad_options(run, table: Path, options: list[str], message: str) -> None:
    assert message in run("fit", table, "--labels", "tag", *options).error


def test_a_semicolon_in_a_name(run, tags: LabelDataset, tmp_path: Path) -> None:
    path, out = tmp_path / "t.csv", tmp_path / "m"
    write_table(path, {name.replace("tag a", "tag; a"): column for name, column in columns(tags).items()})
    assert run("fit", path, "--labels", "tag", *FAST, "-o", out).status == 0
    assert "use --form table or --json" in run("predict", out, path).error
    assert "tag; a" in run("predict", out, path, "--form", "table").out


ODD = ['tag "a"', "tag b|c, d", "tag\u00a0e'f", "tag <g> & h"]


def test_odd_names_of_labels_make_the_round_trip(run, tags: LabelDataset, tmp_path: Path) -> None:
    path, out = tmp_path / "t.csv", tmp_path / "m"
    named = dict(zip([*columns(tags)][:6] + ODD, columns(tags).values(), strict=True))
    write_table(path, named)
    assert run("fit", path, "--labels", "tag", *FAST, "-o", out).status == 0
    expected = predicted(tags)
    told = [set(line["labels"]) for line in run("predict", out, path, "--json").json_lines]
    joined = [set(filter(None, row["labels"].split(";"))) for row in run("predict", out, path).rows]
    table = [{name for name in ODD if row[name] == "1"} for row in run("predict", out, path, "--form", "table").rows]
    assert told == joined == table == [{ODD[j] for j in np.flatnonzero(row)} for row in expected]
    assert {row["label"] for row in run("predict", out, path, "--top", 4).rows} == set(ODD)
    shown = run("evaluate", path, "--labels", "tag", *FAST, "--folds", 2, "--by-label", "--out", "-").rows
    assert {row["label"] for row in shown} == set(ODD)
    explained = run("explain", out, path, *(part for name in ODD for part in ("--label", name))).rows
    assert {row["label"] for row in explained} == set(ODD)
    one = tmp_path / "one"
    told = run("fit", path, "--labels", ODD[1], "-o", one).error
    assert f"there is {ODD[1]!r}: between commas, a name with a comma stands in quotes" in told
    assert run("fit", path, "--labels", f'"{ODD[1]}"', "-o", one).status == 0
    assert cofactor.load(one).label_names_.tolist() == [ODD[1]]


def test_top_excludes_scores(run, fitted: Path, table: Path) -> None:
    assert run("predict", fitted, table, "--form", "banana").error == "--form banana: expected one of 'tags', 'table'"
    assert run("predict", fitted, table, "--top", 0).error.startswith("--top 0: expected a number of at least 1; see ")
    assert "leave out --scores" in run("predict", fitted, table, "--top", 2, "--scores").error
    assert "leave out --form" in run("predict", fitted, table, "--top", 2, "--form", "table").error


def test_which_files_hold_labels(table: Path, arff: Path, tmp_path: Path) -> None:
    cases = {
        "1::1193::5::978300760\n1::661::3::978302109\n": False,
        "196 242 3\n186 302 3\n": False,
        "1,2,3\n4,5,1\n": False,
        "2 3 2\n0,1 2:0.5\n1 0:1\n": True,
        "0,3 1:0.5 7:1\n": True,
    }
    for content, expected in cases.items():
        path = tmp_path / "x"
        path.write_text(content)
        assert (sniff(str(path)) == "labels") is expected, content
    assert sniff(str(arff)) == "labels"
    assert sniff(str(table)) is None


def test_packed_standard_input_is_recognised(run, arff: Path, tags: LabelDataset, tmp_path: Path) -> None:
    svm, out = tmp_path / "t.svm", tmp_path / "m"
    write_libsvm(svm, tags.X, tags.Y, header=False)
    for path, options in ((svm, []), (arff, ["--labels", "tag"])):
        content = gzip.compress(path.read_bytes())
        assert run("fit", "-", *options, *FAST, "-o", out, stdin=content).status == 0


@pytest.mark.processes
def test_the_peek_of_a_pipe_reads_nothing_away(start, tags: LabelDataset, tmp_path: Path) -> None:
    svm = tmp_path / "t.svm"
    write_libsvm(svm, tags.X, tags.Y, header=False)
    process = start("fit", "-", "-m", "plst", "--alpha", "1", "--json", "-o", "m")
    out, _ = process.communicate(svm.read_bytes(), timeout=120)
    assert json.loads(out)["instances"] == len(tags)


def test_a_libsvm_model_knows_from_where_its_indices_count(run, tmp_path: Path) -> None:
    one, zero, sizes = tmp_path / "one.svm", tmp_path / "zero.svm", tmp_path / "sizes.svm"
    one.write_text("1,2 1:0.5 3:1\n2 2:1\n1 1:1\n2 3:1\n1 1:2\n")
    zero.write_text("0,1 0:0.5 2:1\n1 1:1\n0 0:1\n1 2:1\n0 0:2\n")
    sizes.write_text("1 3 2\n0 0:1\n")
    models = {path: path.with_suffix(".m") for path in (one, zero)}
    for path, model in models.items():
        assert run("fit", path, *FAST, "-o", model).status == 0
    new = tmp_path / "new.svm"
    new.write_text("1 1:1\n1 2:1\n")  # no 0 by chance
    same = tmp_path / "same.svm"
    same.write_text("2 2:1\n2 3:1\n")
    scores = [
        [list(row.values()) for row in run("predict", model, path, "--scores").rows]
        for model, path in ((models[zero], new), (models[one], same))
    ]
    assert scores[0] == scores[1]
    assert run("predict", models[zero], sizes).status == 0
    assert "was fitted to a libsvm file whose indices count from 1" in run("predict", models[one], sizes).error
    assert "count from 1" in run("predict", models[one], one, "--zero-based").error
    assert "count from 0" in run("predict", models[zero], one, "--one-based").error
    assert "outside of 1 to" in run("predict", models[one], zero).error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-m", "mmmf"], "--model mmmf: is a model of ratings; label models are"),
        (["-m", "mnmtf"], "--model mnmtf: is a transformer of features, to be used from Python"),
        (["-m", "mlchmf", "--param", "scale=std"], "--param scale=std: expected one of 'auto', 'none', 'rows'"),
        (["--param", "n_components=abc"], "--param n_components=abc: expected a whole number of at least 1, or a"),
        (["-m", "mlchmf", "--param", "n_jobs=a"], "--param n_jobs=a: expected a whole number"),
    ],
)
def test_messages_name_what_was_typed(run, table: Path, options: list[str], message: str) -> None:
    assert message in run("fit", table, "--labels", "tag", *options).error


def test_messages_of_label_files_speak_of_labels(run, table: Path, tmp_path: Path) -> None:
    assert "say it with --labels: the beginning of their names" in run("fit", table, "--task", "labels").error
    for name, content in (("e.arff", ""), ("e.svm", ""), ("h.svm", "0 5 2\n")):
        path = tmp_path / name
        path.write_text(content)
        error = run("fit", path).error
        assert "user" not in error
        assert "the file is empty" in error or "holds no instances, only sizes" in error
    assert "--splits (or --folds) 100: expected a" in run("evaluate", table, "--labels", "tag", "--folds", 100).error


def test_a_file_of_labels_alone(run, tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text("@relation a\n@attribute l1 {0,1}\n@attribute l2 {0,1}\n@data\n0,1\n1,0\n")
    assert "all 2 attributes are labels or dropped" in run("fit", path, "--labels", "l").error


@pytest.mark.usefixtures("data_dir")
def test_a_fit_which_finds_no_label_gives_a_hint(run, tmp_path: Path) -> None:
    fit = ["fit", "emotions", "-m", "omf", "--param", "decoder=factors", "--alpha", 0.5, "-o", tmp_path / "m"]
    assert "try --threshold auto" in run(*fit, "--threshold", 0, "--param", "scale=none").err
    assert "note" not in run(*fit).err
