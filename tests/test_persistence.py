"""Model files: contents survive, damage is always noticed, nothing is half-written."""

import json
import os
import pickle
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import numpy as safetensors
from tests.together import together

import cofactor
from cofactor import persistence
from cofactor.errors import InvalidTypeError
from cofactor.persistence import FORMAT, ModelFileError, load, read_model, save, write_model

HEADER = {"class": "Mean", "params": {"alpha": 0.1, "levels": [1, 2.5], "name": "Ünï\ud800", "seed": None}}
ARRAYS = {
    "U": np.arange(6, dtype=np.float32).reshape(2, 3),
    "flags": np.array([True, False, True]),
    "levels": np.array([0, 255], dtype=np.uint8),
    "none": np.zeros((0, 4), dtype=np.float64),
    "offset": np.array(-7, dtype=np.int64),
}
SET_HERE = {"format", "version"}


class Mean:
    """The smallest model."""

    def __init__(self, alpha, mean):
        self.alpha, self.mean = alpha, mean

    def _to_state(self):
        return {"params": {"alpha": self.alpha}}, {"mean": self.mean}

    @classmethod
    def _from_state(cls, header, arrays, models):
        return cls(header["params"]["alpha"], arrays["mean"])


def same(first, second):
    """Whether two sets of arrays agree to the bit."""
    return first.keys() == second.keys() and all(
        first[k].dtype == second[k].dtype
        and first[k].shape == second[k].shape
        and first[k].tobytes() == second[k].tobytes()
        for k in first
    )


def read_unless_refused(path):
    """Return the contents, or None where the file is refused as it should be."""
    try:
        return read_model(path)
    except ModelFileError:
        return None


@pytest.fixture
def file(tmp_path):
    """A whole model file."""
    path = tmp_path / "model.safetensors"
    write_model(path, HEADER, ARRAYS)
    return path


def raw_file(path, header, arrays=ARRAYS, **metadata):
    """Write a file without the checks of `write_model`; the header may be text or an object."""
    text = header if isinstance(header, str) else json.dumps(header)
    path.write_bytes(safetensors.save(arrays, metadata={"cofactor": text, **metadata}))
    return path


# --- contents -----------------------------------------------------------------------------------------------


def test_round_trip(file):
    header, arrays = read_model(file)
    assert header == {**HEADER, "format": 2, "version": cofactor.__version__}
    assert same(arrays, ARRAYS)
    assert list(arrays) == sorted(ARRAYS)
    arrays["U"][0, 0] = 9  # independent of the file
    assert read_model(file)[1]["U"][0, 0] == 0


def test_a_header_which_was_read_can_be_written_again(file, tmp_path):
    header, arrays = read_model(file)
    write_model(tmp_path / "again", {**header, "version": "0.0.1", "crc32": 5}, arrays)
    assert (tmp_path / "again").read_bytes() == file.read_bytes()


def test_any_safetensors_reader_can_read_the_arrays(file):
    assert same(safetensors.load_file(file), ARRAYS)


@together("dtype", sorted(persistence._DTYPES))
@together("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_every_dtype_and_shape(tmp_path, dtype, shape):
    array = np.arange(np.prod(shape), dtype=np.int64).reshape(shape).astype(dtype)
    write_model(tmp_path / "m", {}, {"a": array})
    assert same(read_model(tmp_path / "m")[1], {"a": array})


def test_special_floats_survive(tmp_path):
    values = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324])
    write_model(tmp_path / "m", {}, {"a": values})
    assert read_model(tmp_path / "m")[1]["a"].tobytes() == values.tobytes()


def test_what_is_no_path_is_refused():
    for wrong in (None, 3):
        with pytest.raises(InvalidTypeError, match=f"path={wrong}: expected the path of a model file"):
            cofactor.load(wrong)


def test_layout_in_memory_does_not_matter(tmp_path):
    base = np.arange(24, dtype=np.int32).reshape(4, 6)
    views = {
        "fortran": np.asfortranarray(base),
        "strided": base[::2, ::-3],
        "big": base.astype(">i4"),
        "broadcast": np.broadcast_to(np.float32(2), (3, 2)),
    }
    write_model(tmp_path / "m", {}, views)
    arrays = read_model(tmp_path / "m")[1]
    for name, view in views.items():
        np.testing.assert_array_equal(arrays[name], view)
        assert arrays[name].dtype == view.dtype.newbyteorder("=")
        assert arrays[name].flags.c_contiguous


def test_input_is_left_alone(tmp_path):
    header, array = {"version": "mine", "crc32": 3, "list": [np.int64(1)]}, np.arange(4.0)[::2]
    write_model(tmp_path / "m", header, {"a": array})
    assert header == {"version": "mine", "crc32": 3, "list": [np.int64(1)]}
    assert type(header["list"][0]) is np.int64


def test_files_are_equal_to_the_byte(file, tmp_path):
    reordered = {name: ARRAYS[name] for name in reversed(ARRAYS)}
    write_model(tmp_path / "again", HEADER, reordered)
    assert (tmp_path / "again").read_bytes() == file.read_bytes()


# --- header -------------------------------------------------------------------------------------------------


def test_numpy_scalars_become_plain(tmp_path):
    header = {
        "i": np.int32(-3),
        "u": np.uint64(2**64 - 1),
        "f": np.float32(0.5),
        "b": np.bool_(True),
        "s": np.str_("x"),
        "t": (1, [np.float64(2.5), {"k": None}]),
    }
    write_model(tmp_path / "m", header, {})
    read = {key: value for key, value in read_model(tmp_path / "m")[0].items() if key not in SET_HERE}
    assert read == {"i": -3, "u": 2**64 - 1, "f": 0.5, "b": True, "s": "x", "t": [1, [2.5, {"k": None}]]}
    assert type(read["b"]) is bool
    assert type(read["i"]) is int


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=30)
@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_any_json_header_survives(tmp_path_factory, header):
    path = tmp_path_factory.getbasetemp() / "header"
    write_model(path, header, {})
    reserved = {*SET_HERE, "crc32"}
    read = {key: value for key, value in read_model(path)[0].items() if key not in reserved}
    assert read == {key: value for key, value in header.items() if key not in reserved}


@pytest.mark.parametrize(
    ("header", "error", "message"),
    [
        (
            {"params": {"tol": float("nan")}},
            ValueError,
            r"header\['params'\]\['tol'\] is nan.*among the arrays",
        ),
        ({"a": [1, np.float32("inf")]}, ValueError, r"header\['a'\]\[1\] is inf"),
        ({"a": np.arange(3)}, TypeError, r"header\['a'\] is a ndarray.*among the arrays"),
        ({"random_state": np.random.default_rng(0)}, TypeError, r"header\['random_state'\] is a Generator"),
        ({"a": {1: 2}}, TypeError, r"header\['a'\] has the key 1: .* must be strings"),
        ({"a": {1, 2}}, TypeError, r"header\['a'\] is a set"),
        ({"a": b"x"}, TypeError, r"header\['a'\] is a bytes"),
        ({"a": 1j}, TypeError, r"header\['a'\] is a complex"),
    ],
)
def test_header_without_json_form(tmp_path, header, error, message):
    with pytest.raises(error, match=message):
        write_model(tmp_path / "m", header, {})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        ({"a": [1, 2]}, TypeError, r"arrays\['a'\] is a list, expected a NumPy array"),
        ({"a": np.array(["x"])}, TypeError, r"arrays\['a'\] has dtype <U1, .*float64"),
        ({"a": np.array([None])}, TypeError, r"arrays\['a'\] has dtype object"),
        ({"a": np.array(["2020"], "M8[D]")}, TypeError, r"dtype datetime64\[D\]"),
        ({"a": np.zeros(2, complex)}, TypeError, "complex128"),
        ({"a": np.zeros(2, [("x", int)])}, TypeError, "dtype"),
        ({3: np.zeros(2)}, TypeError, "array name 3 is a int, expected str"),
        ({"__metadata__": np.zeros(2)}, ValueError, "cannot be called '__metadata__'"),
    ],
)
def test_array_without_a_form(tmp_path, arrays, error, message):
    with pytest.raises(error, match=message):
        write_model(tmp_path / "m", {}, arrays)
    assert os.listdir(tmp_path) == []


def test_header_which_no_reader_would_accept(tmp_path, monkeypatch):
    monkeypatch.setattr(persistence, "MAX_HEADER", 1000)
    write_model(tmp_path / "fits", {"ids": ["x" * 500]}, {})
    with pytest.raises(ValueError, match=r"header takes 1,\d\d\d bytes"):
        write_model(tmp_path / "m", {"ids": ["x" * 1000]}, {})
    assert os.listdir(tmp_path) == ["fits"]


# --- all or nothing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failure_leaves_the_old_file(file, monkeypatch, step):
    before = file.read_bytes()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_model(file, {}, {})
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == [file.name]


def test_flushed_before_it_is_renamed(tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor):
        events.append(("fsync", os.fstat(descriptor).st_size))
        fsync(descriptor)

    def noted_replace(source, target):
        events.append(("replace", os.path.getsize(source)))
        assert os.path.dirname(source) == os.path.dirname(target) == str(tmp_path.resolve())
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write_model(tmp_path / "m", HEADER, ARRAYS)
    size = (tmp_path / "m").stat().st_size
    assert events == [("fsync", size), ("replace", size)]


def test_nowhere_to_write(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing.*does not exist"):
        write_model(tmp_path / "missing" / "m", {}, {})
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_model(tmp_path, {}, {})


# --- damage -------------------------------------------------------------------------------------------------


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.safetensors: no such file"):
        read_model(tmp_path / "none.safetensors")
    with pytest.raises(IsADirectoryError, match="is a folder, expected a model file"):
        read_model(tmp_path)


def test_cut_short_anywhere(file):
    data = file.read_bytes()
    for size in range(len(data)):
        file.write_bytes(data[:size])
        with pytest.raises(ModelFileError, match=r"model\.safetensors: ") as caught:
            read_model(file)
        assert "cut short" in str(caught.value) or "not a whole" in str(caught.value)


def test_longer_than_it_should_be(file):
    with file.open("ab") as stream:
        stream.write(b"\0")
    with pytest.raises(ModelFileError, match=r"model\.safetensors"):
        read_model(file)


@pytest.mark.parametrize("mask", [0x01, 0x80])
def test_one_damaged_byte_anywhere(file, mask):
    whole = file.read_bytes()
    expected = read_model(file)
    harmless = 0
    for position in range(len(whole)):
        data = bytearray(whole)
        data[position] ^= mask
        file.write_bytes(data)
        found = read_unless_refused(file)
        if found is not None:  # damage which means nothing, such as 1E5 for 1e5, but never another model
            harmless += 1
            assert found[0] == expected[0]
            assert same(found[1], expected[1])
    assert harmless <= 12


@given(st.data())
def test_much_damage(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "much"
    write_model(path, HEADER, ARRAYS)
    damaged = bytearray(path.read_bytes())
    where = st.integers(0, len(damaged) - 1)
    for position, value in data.draw(st.dictionaries(where, st.integers(0, 255), min_size=2, max_size=40)).items():
        damaged[position] = value
    cut = data.draw(st.integers(0, len(damaged)))
    inserted = data.draw(st.binary(max_size=12))
    path.write_bytes(damaged[:cut] + inserted + damaged[cut:])
    found = read_unless_refused(path)
    if found is not None:
        assert found[0].items() >= HEADER.items()
        assert same(found[1], ARRAYS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a whole model file: it ends after 0 bytes"),
        (b"user,item,rating\n1,2,3\n", "no safetensors file"),
        (b"PK\x03\x04" + bytes(40), "no safetensors file"),
        (pickle.dumps({"a": 1}), "no safetensors file"),
        ((3).to_bytes(8, "little") + b"{]}", "not JSON"),
        ((100_000).to_bytes(8, "little") + b"{" + b"[" * 99_999, "not JSON"),
        ((2**63).to_bytes(8, "little") + b"{}", "no safetensors file"),
        (safetensors.save(ARRAYS), "not a cofactor model: it has no cofactor header"),
        (safetensors.save(ARRAYS, metadata={"format": "pt"}), "it has no cofactor header"),
    ],
)
def test_other_files(tmp_path, content, message):
    path = tmp_path / "other.bin"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"other\.bin: .*" + message):
        read_model(path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{'format': 2}", "cofactor header is not JSON"),
        ("__import__('os').abort()", "not JSON"),
        ('{"format": 2, "a": NaN}', "NaN is no JSON number"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "not a JSON object"),
        ({}, "format=None"),
        ({"format": "1"}, "format='1'"),
        ({"format": True}, "format=True"),
        ({"format": 0}, "format=0"),
        ({"format": 2}, "checksum does not match"),
        ({"format": 2, "crc32": "x"}, "checksum does not match"),
    ],
)
def test_bad_cofactor_header(tmp_path, header, message):
    path = raw_file(tmp_path / "m", header)
    with pytest.raises(ModelFileError, match=message):
        read_model(path)


def test_an_older_format_says_to_save_again(tmp_path):
    path = raw_file(tmp_path / "m", {"format": FORMAT - 1, "version": "0.0.9"})
    with pytest.raises(ModelFileError, match=r"by cofactor 0\.0\.9 in format 1, .*: fit the model and save it again"):
        read_model(path)


def test_equal_arrays_are_stored_once(tmp_path):
    ids = np.arange(50_000)
    arrays = {"a.ids": ids, "b.ids": ids.copy(), "c.ids": ids + 1, "d.ids": ids.astype(np.int32), "e.ids": ids}
    write_model(tmp_path / "m", {}, arrays)
    assert (tmp_path / "m").stat().st_size < 2.7 * ids.nbytes
    header, again = read_model(tmp_path / "m")
    assert "same" not in header
    assert same(again, arrays)
    again["a.ids"][0] = 99  # each is independent of the others
    assert again["b.ids"][0] == 0
    zeros = {"plus": np.zeros(100), "minus": -np.zeros(100)}
    write_model(tmp_path / "m", {}, zeros)
    assert np.signbit(read_model(tmp_path / "m")[1]["minus"]).all()


@pytest.mark.parametrize("forged", [{"V": "nowhere"}, {"V": "U"}, {"new": 3}, [], {"new": "new"}])
def test_repetitions_must_be_of_arrays_that_are_there(tmp_path, forged, monkeypatch):
    monkeypatch.setattr("cofactor.persistence._repetitions", lambda arrays: forged)
    write_model(tmp_path / "m", {}, {"U": np.eye(3), "V": np.eye(3)})
    arrays = safetensors.load_file(tmp_path / "m")
    if "V" not in arrays:  # it was left out: put it back beside the claim that it is elsewhere
        header = {"same": forged, "format": FORMAT, "version": cofactor.__version__}
        arrays["V"] = np.eye(3)
        header["crc32"] = persistence._checksum(header, {name: arrays[name] for name in sorted(arrays)})
        raw_file(tmp_path / "m", header, arrays)
    if forged:
        with pytest.raises(ModelFileError, match="'same' names arrays"):
            read_model(tmp_path / "m")


def test_a_small_file_does_not_take_all_memory(tmp_path, monkeypatch):
    arrays = {"a": np.zeros(1 << 17)}
    header = {"same": {str(k): "a" for k in range(300)}, "format": FORMAT, "version": cofactor.__version__}
    header["crc32"] = persistence._checksum(header, arrays)
    path = raw_file(tmp_path / "m", header, arrays)
    with pytest.raises(ModelFileError, match="its equal arrays take 314,572,800 bytes; .* COFACTOR_MAX_UNPACKED"):
        read_model(path)
    monkeypatch.setenv("COFACTOR_MAX_UNPACKED", "314572800")
    assert len(read_model(path)[1]) == 301


def test_a_pipe_is_no_model_file(tmp_path):
    """Whether somebody writes into it or not."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="is a pipe or a device, expected a model file"):
        read_model(tmp_path / "pipe")


def test_newer_format_says_to_upgrade_whatever_else_is_new(tmp_path):
    path = raw_file(tmp_path / "m", {"format": FORMAT + 1, "version": "9.1"})
    with pytest.raises(ModelFileError, match=r"by cofactor 9\.1 in format 3, .* reads format 2: upgrade cofactor"):
        read_model(path)


def test_dtype_without_a_numpy_form(tmp_path):
    metadata = {"cofactor": json.dumps({"format": 2})}
    entry = {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}
    header = json.dumps({"__metadata__": metadata, "a": entry}).encode()
    (tmp_path / "m").write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0")
    with pytest.raises(ModelFileError, match="arrays cannot be read"):
        read_model(tmp_path / "m")


def test_checksum_is_the_documented_one(file):
    data = file.read_bytes()
    outer = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    header = json.loads(outer["__metadata__"]["cofactor"])
    crc = header.pop("crc32")
    expected = json.dumps(header, sort_keys=True).encode()
    for name in sorted(ARRAYS):
        array = ARRAYS[name]
        expected += json.dumps([name, str(array.dtype), list(array.shape)]).encode() + array.tobytes()
    assert crc == zlib.crc32(expected)


# --- models -------------------------------------------------------------------------------------------------


def test_save_and_load(tmp_path):
    path = tmp_path / "mean"
    save(path, Mean(0.25, np.array([1.5, 2.5], dtype=np.float32)))
    model = load(path, {"Mean": Mean, "Other": int})
    assert type(model) is Mean
    assert model.alpha == 0.25
    assert same({"mean": model.mean}, {"mean": np.array([1.5, 2.5], dtype=np.float32)})
    assert read_model(path)[0]["class"] == "Mean"


def test_unknown_class_lists_the_known_ones(tmp_path):
    path = tmp_path / "mean"
    save(path, Mean(0.25, np.zeros(2)))
    with pytest.raises(ModelFileError, match=r"mean: .* class 'Mean', .* \(known: HMF, MMMF\)"):
        load(path, {"MMMF": Mean, "HMF": Mean})
    with pytest.raises(ModelFileError, match=r"known: none"):
        load(path, {})


@pytest.mark.parametrize("kind", [None, 3, ["Mean"], {"Mean": 1}, "os.system", ""])
def test_class_which_is_no_known_name(tmp_path, kind):
    write_model(tmp_path / "m", {"class": kind}, {})
    with pytest.raises(ModelFileError, match="not known here"):
        load(tmp_path / "m", {"Mean": Mean})
    write_model(tmp_path / "m", {}, {})
    with pytest.raises(ModelFileError, match="class None, which is not known here"):
        load(tmp_path / "m", {"Mean": Mean})


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"params": {"alpha": 1}}, {}, r"whole model of class Mean \(no entry 'mean'\)"),
        ({}, {"mean": np.zeros(2)}, r"no entry 'params'"),
        ({"params": [1]}, {"mean": np.zeros(2)}, r"list indices must be"),
    ],
)
def test_model_which_lacks_something(tmp_path, header, arrays, message):
    write_model(tmp_path / "m", {"class": "Mean", **header}, arrays)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "m", {"Mean": Mean})


def test_reading_knows_no_pickle(file):
    code = (
        "import sys, pickle\n"
        "def refuse(*args, **kwargs): raise SystemExit('unpickled')\n"
        "pickle.load = pickle.loads = pickle.Unpickler = refuse\n"
        "from cofactor.persistence import read_model\n"
        "print(sorted(read_model(sys.argv[1])[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(sorted(ARRAYS))


class Deep(Mean):
    """A model whose header is read by a function that calls itself."""

    @classmethod
    def _from_state(cls, header, arrays, models):
        def depth(value):
            return 1 + max((depth(part) for part in value), default=0)

        return cls(depth(header["params"]), arrays["mean"])


@pytest.mark.parametrize("depth", [480, 900, 5000, 200_000])
def test_a_header_nested_too_deeply_is_refused(tmp_path, depth):
    """Whatever gives up first: the parser, the checksum, or the model."""
    path = tmp_path / "deep.cofactor"
    nested = "[" * depth + "]" * depth
    header = {"class": "Deep", "format": FORMAT, "version": cofactor.__version__}
    arrays = {"mean": np.zeros(1)}
    text = json.dumps(header | {"params": 0, "crc32": None})
    body = json.dumps(header | {"params": 0}, sort_keys=True).replace('"params": 0', f'"params": {nested}')
    crc = zlib.crc32(body.encode())
    crc = zlib.crc32(json.dumps(["mean", "float64", [1]]).encode(), crc)
    crc = zlib.crc32(arrays["mean"].tobytes(), crc)
    text = text.replace('"params": 0', f'"params": {nested}').replace("null", str(crc))
    path.write_bytes(safetensors.save(arrays, metadata={"cofactor": text}))
    with pytest.raises(ModelFileError, match="recursion"):
        load(path, {"Deep": Deep})
