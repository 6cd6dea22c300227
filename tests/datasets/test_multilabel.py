"""Known multi-label sets: every count that was measured on the files, splits, traps, and how they are loaded."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from tests.together import together

from cofactor.datasets import (
    DatasetNotFoundError,
    available,
    load_labels,
    load_ratings,
    read_arff,
    read_mat,
    registry,
    verify,
    write_libsvm,
)

# File, instances, features, labels, cardinality, repeated rows, rows without label: as README.md of the data has them.
COUNTS = """
emotions/emotions.arff 593 72 6 1.868 0 0
emotions/emotions-train.arff 391 72 6 1.813 0 0
emotions/emotions-test.arff 202 72 6 1.975 0 0
scene/scene-train.arff 1211 294 6 1.062 2 0
scene/scene-test.arff 1196 294 6 1.086 0 0
yeast/yeast.arff 2417 103 14 4.237 0 0
yeast/yeast-train.arff 1500 103 14 4.228 0 0
yeast/yeast-test.arff 917 103 14 4.252 0 0
flags/flags.arff 194 19 7 3.392 0 0
flags/flags-train.arff 129 19 7 3.419 0 0
flags/flags-test.arff 65 19 7 3.338 0 0
genbase/genbase.arff 662 1186 27 1.252 0 0
genbase/genbase-train.arff 463 1186 27 1.261 0 0
genbase/genbase-test.arff 199 1186 27 1.231 0 0
medical/medical.arff 978 1449 45 1.245 9 0
medical/medical-train.arff 333 1449 45 1.255 3 0
medical/medical-test.arff 645 1449 45 1.240 4 0
cal500/cal500.arff 502 68 174 26.044 0 0
llog/LLOG-F.arff 1460 1004 75 1.180 204 207
corel5k/Corel5k-sparse.arff 5000 499 374 3.522 1 0
corel5k/Corel5k-train-sparse.arff 4500 499 374 3.522 0 0
corel5k/Corel5k-test-sparse.arff 500 499 374 3.526 1 0
corel16k001/Corel16k001.arff 13766 500 153 2.859 0 0
bibtex/bibtex.arff 7395 1836 159 2.402 15 0
bibtex/bibtex-train.arff 4880 1836 159 2.380 6 0
bibtex/bibtex-test.arff 2515 1836 159 2.444 1 0
delicious/delicious.arff 16105 500 983 19.020 185 14
delicious/delicious-train.arff 12920 500 983 19.047 120 10
delicious/delicious-test.arff 3185 500 983 18.910 8 4
ohsumed/OHSUMED-F.arff 13929 1002 23 1.663 0 0
rcv1/rcv1subset1.arff 6000 47236 101 2.880 16 0
rcv1/rcv1subset2.arff 6000 47236 101 2.634 14 0
rcv1/rcv1subset3.arff 6000 47236 101 2.614 15 0
rcv1/rcv1subset4.arff 6000 47229 101 2.484 21 0
rcv1/rcv1subset5.arff 6000 47235 101 2.642 13 0
rcv1/rcv1-sample1.mat 6000 944 101 2.880 24 0
rcv1/rcv1-sample2.mat 6000 944 101 2.634 28 0
rcv1/rcv1-sample3.mat 6000 944 101 2.614 22 0
rcv1/rcv1-sample4.mat 6000 944 101 2.267 29 0
rcv1/rcv1-sample5.mat 6000 944 101 2.625 18 0
plant/PlantPseAAC.arff 978 440 12 1.079 0 0
plant/plant.mat 978 440 12 1.079 0 0
human/human.mat 3106 440 14 1.185 0 0
human/humanGO.mat 3106 9844 14 1.185 47 0
yahoo/Arts.mat 5000 462 26 1.636 35 0
yahoo/Business.mat 5000 438 30 1.588 17 0
yahoo/Computers.mat 5000 681 33 1.508 117 0
yahoo/Education.mat 5000 550 33 1.461 10 0
yahoo/Entertainment.mat 5000 640 21 1.420 44 0
yahoo/Health.mat 5000 612 32 1.662 26 0
yahoo/Recreation.mat 5000 606 22 1.423 62 0
yahoo/Reference.mat 5000 793 33 1.169 55 0
yahoo/Science.mat 5000 743 40 1.451 9 0
yahoo/Social.mat 5000 1047 39 1.283 3 0
yahoo/Society.mat 5000 636 27 1.692 25 0
"""
ROWS = [tuple(line.split()) for line in COUNTS.strip().splitlines()]
#: Large files which are like others of their folder; loading looks at the number of their rows.
LIKE_OTHERS = [f"rcv1/rcv1subset{k}.arff" for k in (2, 3)] + [f"rcv1/rcv1-sample{k}.mat" for k in (2, 3, 5)]
LIKE_OTHERS += [f"genbase/genbase-{part}.arff" for part in ("train", "test")] + ["corel16k001/Corel16k001.arff"]
LIKE_OTHERS += [row[0] for row in ROWS if row[0].startswith("yahoo") and row[0][6:-4] not in ("Arts", "Social")]
COUNTED = [row for row in ROWS if row[0] not in LIKE_OTHERS]

#: Training instances of the official splits.
SPLITS = {"emotions": 391, "scene": 1211, "yeast": 1500, "flags": 129, "medical": 333, "corel5k": 4500, "bibtex": 4880}
SPLITS |= {"corel16k001": 12_022, "delicious": 12_920, "plant": 588, "human": 1862, "humango": 1862}
SPLITS |= {f"rcv1-sample{k}": 3000 for k in range(1, 6)}


@pytest.fixture(scope="module")
def root(data_dir):
    return data_dir / "multilabel"


@cache
def read(path):
    """A file as it stands, read once for all tests."""
    path = Path(path)
    if path.suffix == ".mat":
        return read_mat(path)
    return read_arff(Path(f"{path}.gz"), max_values=1000)  # among them the names of the rows of genbase


@cache
def known(name):
    """A known set, read once for all tests."""
    return load_labels(name)


def rows_as_bytes(data):
    X, Y = data.X, data.Y.toarray()
    if not issparse(X):
        return [X[i].tobytes() + Y[i].tobytes() for i in range(len(data))]
    spans = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [X.indices[a:b].tobytes() + X.data[a:b].tobytes() + Y[i].tobytes() for i, (a, b) in enumerate(spans)]


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("file", "n", "features", "labels", "cardinality", "repeated", "without"), COUNTED, ids=[r[0] for r in COUNTED]
)
def test_counts(root, file, n, features, labels, cardinality, repeated, without):
    data = read(str(root / file))
    # Nominal features are spread over several columns; each of them is one in the table.
    spread = [name for name in data.feature_names if name.startswith(tuple(f"{a}=" for a in data.nominal))]
    assert (len(data), data.n_features - len(spread) + len(data.nominal)) == (int(n), int(features))
    assert data.n_labels == int(labels)
    assert f"{data.cardinality:.3f}" == cardinality
    keys = rows_as_bytes(data)
    assert len(keys) - len(set(keys)) == int(repeated)
    assert int((data.Y.sum(axis=1) == 0).sum()) == int(without)
    assert issparse(data.X) == (
        np.count_nonzero(data.X.data if issparse(data.X) else data.X) <= 0.2 * np.prod(data.X.shape)
    )
    assert data.X.dtype == np.float64
    assert data.Y.dtype == np.int32
    assert (data.Y.data == 1).all()


def test_the_registry_knows_every_file_of_the_table(root):
    entries = {name: entry for name, entry in registry.KNOWN.items() if entry.task == "labels"}
    counted = {row[0]: int(row[1]) for row in ROWS}
    for entry in entries.values():
        files = [name for known in entry.files if known.role in ("data", "test") for name in known.names]
        folder = Path(entry.folder).name
        assert sum(counted[f"{folder}/{name}"] for name in files) == entry.rows, entry.name
        sizes = None if entry.train is None else entry.train[1] - entry.train[0]
        assert sizes == SPLITS.get(entry.name, 2000 if entry.name.startswith("yahoo") else None)
    assert len(entries) == 37
    assert {status.name for status in available("labels")} == set(entries)
    assert {status.task for status in available()} == {"ratings", "labels"}


@pytest.mark.parametrize(
    "name", ["emotions", "scene", "yeast", "flags", "medical", "cal500", "corel5k", "plant", "human", "yahoo-arts"]
)
def test_load_by_name(name):
    data = known(name)
    entry = registry.KNOWN[name]
    assert (data.name, len(data), data.description) == (name, entry.rows, entry.description)
    if entry.train is None:
        assert data.train_rows is None
        with pytest.raises(ValueError, match="has no official split"):
            data.split()
        return
    train, test = data.split()
    assert (len(train), len(train) + len(test)) == (SPLITS.get(name, 2000), entry.rows)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("emotions", ("emotions/emotions-train", "emotions/emotions-test")),
        ("yeast", ("yeast/yeast-train", "yeast/yeast-test")),
        ("medical", ("medical/medical-train", "medical/medical-test")),
        ("flags", ("flags/flags-train", "flags/flags-test")),
        ("corel5k", ("corel5k/Corel5k-train-sparse", "corel5k/Corel5k-test-sparse")),
        ("scene", ("scene/scene-train", "scene/scene-test")),
        ("bibtex", ("bibtex/bibtex-train", "bibtex/bibtex-test")),
    ],
)
def test_official_splits_are_those_of_the_files(root, name, files):
    for part, file in zip(known(name).split(), files, strict=True):
        assert rows_as_bytes(part) == rows_as_bytes(read(str(root / f"{file}.arff")))


def test_stacked_sets_hold_the_rows_of_the_full_file(root):
    for name in ("flags", "bibtex"):
        full = read(str(root / f"{name}/{name}.arff"))
        assert sorted(rows_as_bytes(known(name))) == sorted(rows_as_bytes(full))


def test_delicious_and_corel16k_split_where_they_should(root):
    full = rows_as_bytes(read(str(root / "delicious/delicious.arff")))
    assert full[:12_920] == rows_as_bytes(read(str(root / "delicious/delicious-train.arff")))
    assert registry.KNOWN["delicious"].train == (0, 12_920)
    assert registry.KNOWN["corel16k001"].train == (0, 13_766 - 1_744)


# ----------------------------------------------------------------------------------------------- traps


def test_genbase_without_row_names_and_with_yes_as_1(root):
    data = load_labels("genbase")
    assert data.X.shape == (662, 1185)
    assert "protein" not in data.feature_names
    assert data.train_rows is None
    assert issparse(data.X)
    assert set(data.X.data.tolist()) == {1.0}
    whole = read(str(root / "genbase/genbase.arff"))
    others = [k for k, feature in enumerate(whole.feature_names) if not feature.startswith("protein=")]
    np.testing.assert_array_equal(data.X.toarray(), whole.X[:, others].toarray())
    # YES is rare: a code of the value's index, by which NO is 1, would give 1,183 ones in a row.
    assert data.X.sum(axis=1).max() < 20


def test_nominal_features_of_flags_are_spread():
    data = known("flags")
    assert data.nominal == ("landmass", "zone", "language", "religion")
    assert data.n_features == 43
    for name, values in (("landmass", 6), ("zone", 4), ("language", 10), ("religion", 8)):
        columns = [k for k, feature in enumerate(data.feature_names) if feature.startswith(f"{name}=")]
        assert len(columns) == values
        assert (data.X[:, columns].sum(axis=1) == 1).all()
    assert {"landmass=3", "religion=0", "crescent"} <= set(data.feature_names)


def test_the_two_forms_of_plant_agree(root):
    arff, mat = read(str(root / "plant/PlantPseAAC.arff")), known("plant")
    np.testing.assert_array_equal(arff.Y.toarray(), mat.Y.toarray())
    differing = np.abs(arff.X - mat.X).max(axis=1)
    assert (differing > 1e-3).sum() <= 2
    assert differing.max() < 0.1045


def test_labels_of_human_and_humango_agree(root):
    np.testing.assert_array_equal(known("human").Y.toarray(), read(str(root / "human/humanGO.mat")).Y.toarray())


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("k", "header", "shifted", "cardinality"),
    [(1, 47236, 1, 2.895), (4, 47229, 24, 2.908), (5, 47235, 11, 2.905)],
)
def test_rcv1_realigned(root, k, header, shifted, cardinality):
    name = f"rcv1subset{k}"
    data = load_labels(name, aligned="realigned")
    assert data.X.shape == (6000, header)
    assert data.cardinality == pytest.approx(cardinality, abs=6e-4)
    assert data.Y.sum(axis=1).min() >= 1
    norms = np.sqrt((data.X * data.X).sum(axis=1))
    np.testing.assert_allclose(norms, 1, atol=5e-5)
    frequencies = [data.Y[:3000].sum(axis=0), data.Y[3000:].sum(axis=0)]
    assert np.corrcoef(*frequencies)[0, 1] > 0.99
    published = read(str(root / f"rcv1/{name}.arff"))
    low, high = (0, 3000) if k == 5 else (3000, 6000)
    np.testing.assert_array_equal(data.Y[low:high, shifted:].toarray(), published.Y[low:high, :-shifted].toarray())
    other = slice(3000, 6000) if k == 5 else slice(0, 3000)
    np.testing.assert_array_equal(data.Y[other].toarray(), published.Y[other].toarray())
    assert published.label_names == data.label_names


@pytest.mark.evidence
def test_rcv1_as_published_warns_unless_asked_for(root):
    with pytest.warns(
        UserWarning, match=r"rows 3000 to 5999 stand 1 column before.*aligned='realigned' takes them from"
    ):
        data = load_labels("rcv1subset1")
    assert data.cardinality == pytest.approx(2.880, abs=5e-4)
    with pytest.warns(UserWarning, match=r"rcv1subset5.*rows 0 to 2999 stand 11 columns before"):
        load_labels(root / "rcv1/rcv1subset5.arff.gz")  # the same trap by its path
    with pytest.warns(UserWarning, match=r"rcv1-sample1: .*cannot be realigned"):
        load_labels("rcv1-sample1")
    assert load_labels("rcv1-sample1", aligned="published").n_labels == 101  # without a warning
    with pytest.raises(ValueError, match="'rcv1-sample1' cannot be realigned"):
        load_labels("rcv1-sample1", aligned="realigned")


# --------------------------------------------------------------------------------------- sets and files


def test_every_format_by_its_content(tmp_path, root):
    data = known("emotions")
    X, Y = data.X[:20], data.Y[:20]
    write_libsvm(tmp_path / "a.dat", X, Y)
    write_libsvm(tmp_path / "b.dat", X, Y, header=False)
    (tmp_path / "c.dat").write_bytes((root / "emotions/emotions.arff.gz").read_bytes())
    (tmp_path / "d.dat").write_bytes((root / "plant/plant.mat").read_bytes())
    header = ",".join([*data.feature_names, *data.label_names])
    lines = [",".join(map(str, [*x, *y])) for x, y in zip(X.tolist(), Y.toarray().tolist(), strict=True)]
    (tmp_path / "e.dat").write_text("\n".join([header, *lines]))
    for name in ("a.dat", "b.dat"):
        np.testing.assert_array_equal(load_labels(tmp_path / name, sparse=False).X, X)
    assert len(load_labels(tmp_path / "c.dat", -6)) == 593
    assert len(load_labels(tmp_path / "d.dat")) == 978
    table = load_labels(tmp_path / "e.dat", data.label_names)
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.Y.toarray(), Y.toarray())
    assert len(load_labels(tmp_path / "a.dat", format="libsvm")) == 20


@together(
    ("arguments", "options", "message"),
    [
        (
            ("emotion",),
            {},
            "data set 'emotion' is not known, and there is no such file; did you mean emotions",
        ),
        (("ml-100k",), {}, r"'ml-100k' holds ratings, not labels; load it with load_ratings\('ml-100k'\)"),
        (("emotions", "tag"), {}, "'emotions' is a known data set; labels, drop, id and format are for files"),
        (("emotions",), {"aligned": "realigned"}, "aligned is for the sets of rcv1"),
        (("emotions",), {"aligned": "yes"}, "aligned='yes': not known"),
        (("-",), {}, "standard input: its format cannot be told"),
    ],
)
def test_what_cannot_be_meant(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        load_labels(*arguments, **options)


def test_options_which_do_not_apply_to_a_file(root, tmp_path):
    with pytest.raises(ValueError, match="is for ARFF files and tables"):
        load_labels(root / "plant/plant.mat", "y")
    with pytest.raises(ValueError, match="aligned is for the sets of rcv1; nothing is known"):
        load_labels(root / "plant/plant.mat", aligned="published")
    with pytest.raises(ValueError, match="format='xls': not known; expected one of mat"):
        load_labels(root / "plant/plant.mat", format="xls")
    with pytest.raises(ValueError, match="data_home is for known data sets"):
        load_labels(root / "plant/plant.mat", data_home=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"none\.arff: no such file"):
        load_labels(tmp_path / "none.arff")
    with pytest.raises(
        ValueError, match=r"'emotions' holds labels, not ratings; load it with load_labels\('emotions'\)"
    ):
        load_ratings("emotions")


def test_a_missing_set_says_what_to_put_where(tmp_path):
    with pytest.raises(DatasetNotFoundError) as caught:
        load_labels("emotions", data_home=tmp_path)
    text = str(caught.value)
    assert "put emotions.arff and emotions.xml (plain or .gz) from https://mulan.sourceforge.net" in text
    assert str(tmp_path / "multilabel" / "emotions") in text


def test_a_damaged_set_is_refused(root, tmp_path):
    (tmp_path / "emotions.xml").write_bytes((root / "emotions/emotions.xml").read_bytes())
    (tmp_path / "emotions.arff.gz").write_bytes((root / "emotions/emotions-test.arff.gz").read_bytes())
    with pytest.raises(ValueError, match="202 rows, expected 593; take it from https:"):
        load_labels("emotions", data_home=tmp_path)
    result = verify("emotions", tmp_path)
    assert [(check.name, check.status) for check in result.files] == [
        ("emotions.arff.gz", "different"),
        ("emotions.xml", "ok"),
    ]


def test_names_with_odd_characters(root):
    names = read(str(root / "delicious/delicious.arff")).label_names
    assert {"TAG_c#", "TAG_m\\'usica", "TAG_john/rodney"} <= set(names)


def test_forms(root):
    data = load_labels("medical", sparse=False)
    assert isinstance(data.X, np.ndarray)
    assert data.X.flags.c_contiguous
    sparse = load_labels("emotions", sparse=True)
    assert isinstance(sparse.X, csr_array)
    assert sparse.X.indices.dtype == np.int32
