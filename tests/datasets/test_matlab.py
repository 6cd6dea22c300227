"""MATLAB files: the layouts, codes and orientations of labels, and files which are none of these."""

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array, issparse

from cofactor.datasets import read_mat

X = np.array([[1.0, 0.5], [0.0, 2.0], [3.0, 1.0]])
Y = np.array([[1, 0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 0]])
XT, YT = X[:2] + 1, Y[1:]


@pytest.fixture
def save(tmp_path):
    def save(**variables):
        savemat(tmp_path / "file.mat", variables)
        return tmp_path / "file.mat"

    return save


@pytest.mark.parametrize(
    "code", [lambda Y: Y, lambda Y: 2 * Y - 1, lambda Y: Y.astype(bool), lambda Y: csc_array(Y * 1.0)]
)
@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("names", [("X", "Y", "Xt", "Yt"), ("train_data", "train_target", "test_data", "test_target")])
def test_layouts_codes_and_orientations(save, names, turn, code):
    parts = [X, code(Y.T if turn else Y), XT, code(YT.T if turn else YT)]
    data = read_mat(save(**dict(zip(names, parts, strict=True))))
    np.testing.assert_array_equal(data.X, np.vstack([X, XT]))
    np.testing.assert_array_equal(data.Y.toarray(), np.vstack([Y, YT]))
    assert data.Y.dtype == np.int32
    assert data.train_rows.tolist() == [True, True, True, False, False]
    assert (data.feature_names, data.label_names) == (("x0", "x1"), ("y0", "y1", "y2", "y3"))


def test_one_part(save):
    for names in (("X", "Y"), ("train_data", "train_target"), ("data", "target")):
        data = read_mat(save(**dict(zip(names, (X, Y), strict=True)), other=1.0))
        assert data.train_rows is None
        np.testing.assert_array_equal(data.Y.toarray(), Y)


def test_a_square_target_is_labels_by_instances(save):
    square = np.array([[1, -1], [1, 1]])
    assert read_mat(save(train_data=X[:2], train_target=square)).Y.toarray().tolist() == [[1, 1], [0, 1]]
    assert read_mat(save(X=X[:2], Y=square)).Y.toarray().tolist() == [[1, 0], [1, 1]]


def test_form_of_x(save):
    wide = np.zeros((3, 10), dtype=np.uint8)
    wide[0, 0] = 7
    data = read_mat(save(X=wide, Y=Y))
    assert issparse(data.X)
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(data.X.toarray(), wide)
    assert not issparse(read_mat(save(X=csc_array(X), Y=Y)).X)
    assert not issparse(read_mat(save(X=wide, Y=Y), sparse=False).X)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"A": X, "B": Y}, "expected the variables X, Y .*; found A, B"),
        ({"X": X, "Y": Y[:2]}, r"X has shape \(3, 2\) and Y \(2, 4\); no side of Y has 3 instances"),
        (
            {"X": X, "Y": Y, "Xt": XT[:, :1], "Yt": YT},
            "training part has 2 features and 4 labels, the test part 1 and 4",
        ),
        ({"X": X, "Y": Y / 2}, "Y: labels must be 0/1, -1/.1 or booleans, found 0.5"),
        ({"X": X, "Y": np.where(Y, 1.0, np.nan)}, "Y: labels must be .*found nan"),
        ({"X": X, "Y": Y - (np.arange(4) == 2)}, "Y: labels must be .*found -1, 0 and 1 together"),
        ({"X": X, "Y": 2 * Y}, "found 2"),
        ({"X": np.where(X, X, np.nan), "Y": Y}, "a feature is NaN or infinite"),
        ({"X": "text", "Y": Y}, "X has type .*expected a matrix of numbers"),
    ],
)
def test_odd_contents(save, variables, message):
    with pytest.raises(ValueError, match=f"file.mat.*{message}"):
        read_mat(save(**variables))


def test_files_which_are_none(tmp_path, save):
    path = tmp_path / "file.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file" + bytes(500))
    with pytest.raises(ValueError, match="version 7.3; save it with save"):
        read_mat(path)
    path.write_bytes(b"x,y\n1,2\n")
    with pytest.raises(ValueError, match="damaged"):
        read_mat(path)
    whole = save(X=np.random.default_rng(0).random((50, 50)), Y=np.eye(50)).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="damaged|cut short"):
        read_mat(path)
    with pytest.raises(FileNotFoundError):
        read_mat(tmp_path / "none.mat")
