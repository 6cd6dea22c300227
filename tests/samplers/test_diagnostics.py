"""Diagnostics of chains: R-hat and effective sample size as ArviZ computes them, and what ArviZ is given."""

import numpy as np
import pytest
from tests.children import answer_of
from tests.together import together

from cofactor.samplers import diagnose, split_r_hat, to_inference_data
from cofactor.samplers.diagnostics import require_arviz


@pytest.fixture(scope="module")
def arviz():
    """Loaded by the one process that needs it, and not by each that collects tests: it compiles something."""
    return require_arviz()


def chains(n_chains, n_draws, shift=0.0, memory=0.5, seed=0):
    """Autoregressive chains, each `shift` above the one before."""
    random = np.random.default_rng(seed)
    x = np.empty((n_chains, n_draws))
    x[:, 0] = random.normal(size=n_chains)
    for t in range(1, n_draws):
        x[:, t] = memory * x[:, t - 1] + random.normal(size=n_chains)
    return x + shift * np.arange(n_chains)[:, None]


@together("n_draws", [4, 5, 200, 201])
@together("shift", [0.0, 3.0])
@together("n_chains", [2, 4])
def test_split_r_hat_is_that_of_arviz(n_chains, n_draws, shift, arviz):
    x = chains(n_chains, n_draws, shift)
    assert split_r_hat(x) == pytest.approx(float(arviz.rhat(x)), rel=1e-10)
    ties = np.round(x)
    assert split_r_hat(ties) == pytest.approx(float(arviz.rhat(ties)), rel=1e-10)


def test_split_r_hat_sees_different_spreads_and_drift():
    x = chains(2, 500)
    assert split_r_hat(x) < 1.02
    assert split_r_hat(x * [[1], [4]]) > 1.1
    assert split_r_hat(x + np.linspace(0, 5, 500)) > 1.1
    assert split_r_hat(x[:1]) < 1.05  # one chain has two halves


def test_split_r_hat_of_what_does_not_vary():
    assert np.isnan(split_r_hat(np.ones((2, 10))))
    with pytest.raises(ValueError, match=r"at least 4 draws, found \(2, 3\)"):
        split_r_hat(np.ones((2, 3)))


def test_diagnose_names_every_entry_that_changes(arviz):
    x, level = chains(2, 300), np.stack([chains(2, 300, shift=4, seed=1), np.ones((2, 300))], axis=2)
    found = diagnose({"noise": x, "thresholds": level, "set": np.full((2, 300), 2.0)})
    assert found.quantities == ("noise", "thresholds[1]")
    assert (found.n_chains, found.n_draws) == (2, 300)
    np.testing.assert_allclose(found.mean, [x.mean(), level[..., 0].mean()])
    np.testing.assert_allclose(found.ess, [arviz.ess(x), arviz.ess(level[..., 0])])
    assert found.r_hat[0] < 1.02 < 1.5 < found.r_hat[1]
    assert found.ess[1] < 20 < 100 < found.ess[0]
    lines = str(found).splitlines()
    assert lines[0].split() == ["quantity", "mean", "sd", "R-hat", "ESS"]
    assert lines[2].split()[0] == "thresholds[1]"
    assert len({len(line) for line in lines[:-1]}) == 1
    assert lines[-1] == "chains: 2, draws of each: 300"


def test_one_chain_has_no_r_hat_and_few_draws_nothing():
    one = diagnose({"a": chains(1, 100)})
    assert np.isnan(one.r_hat).all()
    assert np.isfinite(one.ess).all()
    few = diagnose({"a": chains(3, 3)})
    assert np.isnan([few.r_hat, few.ess]).all()
    assert str(few).splitlines()[1].split()[-2:] == ["–", "–"]


def test_inference_data(arviz):
    x, level = chains(2, 30), np.random.default_rng(0).normal(size=(2, 30, 4))
    data = to_inference_data({"noise": x, "thresholds": level}, x - 100, x[:, :10] - 200)
    np.testing.assert_array_equal(data.posterior["noise"], x)
    np.testing.assert_array_equal(data.posterior["thresholds"].sel(thresholds_dim_0=4), level[:, :, 3])
    np.testing.assert_array_equal(data.sample_stats["total_log_likelihood"], x - 100)
    np.testing.assert_array_equal(data.warmup_sample_stats["total_log_likelihood"], x[:, :10] - 200)
    assert "warmup_sample_stats" not in to_inference_data({"noise": x}, x, x[:, :0]).groups()
    assert list(arviz.summary(data).index) == ["noise", *(f"thresholds[{k}]" for k in range(1, 5))]


@pytest.mark.processes
def test_processes_that_import_arviz_at_the_same_moment(tmp_path):
    """Each notes the day in one file, and one of them finds its own part of it gone."""
    (tmp_path / "arviz.py").write_text("""
import pathlib
stamp = pathlib.Path(__file__).with_name("stamp")
if not stamp.exists():
    stamp.touch()
    raise FileNotFoundError("daily_warning.tmp")
""")
    code = """
import sys, warnings
warnings.simplefilter("error")
assert "arviz" not in sys.modules
sys.path.insert(0, folder)
from cofactor.samplers.diagnostics import require_arviz
answer.send(require_arviz().stamp.exists())
"""
    assert answer_of(code, folder=str(tmp_path)) is True


@pytest.mark.processes
def test_without_arviz_the_error_says_how_to_install_it():
    code = """
import sys, warnings
warnings.simplefilter("error")
sys.modules["arviz"] = None
from cofactor.samplers import diagnose, split_r_hat
import numpy as np
split_r_hat(np.eye(4))
try:
    diagnose({"a": np.eye(4)})
except ImportError as error:
    answer.send(str(error))
"""
    expected = "diagnostics of chains need arviz, which is not installed: pip install 'cofactor[bayes]'"
    assert answer_of(code) == expected
