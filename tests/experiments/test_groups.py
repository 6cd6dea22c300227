"""Figures 6.1 to 6.3: what the claims say of made-up results, and what a cell measures."""

from tests.experiments.results import result
from tests.together import together

from cofactor.experiments import experiment as named
from cofactor.experiments.label_work import group_sparsity
from cofactor.experiments.papers.kumar_labels import REALIGNED, influence_claims, size_claims
from cofactor.experiments.reproduction import Reproduction, Sample

EXPERIMENTS = [named(f"thesis-figure-6.{number}") for number in (1, 2, 3)]
SPARSITY, INFLUENCE, SIZES = EXPERIMENTS


def measured(measures, data="medical", **parameters):
    return result("GroPLE", data, measures, error="" if measures else "DatasetNotFoundError: not there", **parameters)


def verdicts(claims):
    return [claim.holds for claim in claims]


def test_stronger_weights_leave_fewer_factors():
    given = {"alpha_v": 30.0, "n_groups": 2}
    weak, strong = (group_sparsity("GroPLE", "emotions", "all", 0, alpha_u=u, **given) for u in (0.01, 20.0))
    assert weak["factors"] == len(weak["V"]) > strong["factors"]
    assert weak["within"] == 1  # rows of a group vanish as a whole
    assert 0 <= weak["zero_rows"] < 1


@together(("found", "expected"), [((0.7, 1.0, 0.1), [True, True]), ((0.4, 1.0, 0.6), [False, False])])
def test_sparsity_claims(found, expected):
    measures = dict(zip(("zero_rows", "within", "between"), found, strict=True), V=[[1.0, 0.0]], groups=[0, 1])
    outcome = SPARSITY.outcome([measured(measures, alpha_u=0.1, alpha_v=1.0)])
    assert verdicts(outcome.claims) == expected
    assert "zero" in outcome.pictures[0].draw().get_title(loc="left")


def test_nothing_measured_is_told():
    for experiment in EXPERIMENTS:
        outcome = Reproduction(experiment, "quick", 1, [measured({})]).outcome
        assert all(claim.holds is None for claim in outcome.claims)
        assert any("not there" in note for note in outcome.notes)
        assert not outcome.pictures


MAP = {(0.001, 0.1): 0.77, (0.001, 10): 0.74, (10, 0.1): 0.70, (10, 10): 0.60}


def by_weights(pairs):
    """Return accuracies as the claims take them, by the first weight and by the second."""
    return {u: {v: Sample(value) for (first, v), value in pairs.items() if first == u} for u, _ in pairs}


@together(
    ("changed", "expected"),
    [
        ({}, [True, True, True]),
        ({(10, 0.1): 0.78}, [False, True, True]),
        ({(0.001, 10): 0.77, (10, 10): 0.70}, [True, True, False]),
    ],
)
def test_influence_claims(changed, expected):
    assert verdicts(influence_claims(by_weights({**MAP, **changed}), "medical")) == expected


def test_influence_of_part_of_the_pairs_is_not_judged():
    some = dict(list(MAP.items())[:3])
    assert verdicts(influence_claims(by_weights(some), "medical")) == [None]


def test_influence_is_drawn_for_each_data_set():
    results = [
        measured({"accuracy": value}, data, settings={"alpha_u": u, "alpha_v": v})
        for data in ("medical", "genbase")
        for (u, v), value in MAP.items()
    ]
    outcome = INFLUENCE.outcome(results)
    assert [picture.name for picture in outcome.pictures] == ["thesis-figure-6.2-medical", "thesis-figure-6.2-genbase"]
    assert outcome.pictures[0].draw().images[0].get_array().tolist() == [[0.77, 0.74], [0.70, 0.60]]


@together(
    ("few", "many", "rare", "expected"),
    [
        ((0.30, 0.31, 0.30), (0.30, 0.33, 0.33), (0.20, 0.25, 0.22), [True, True, True]),
        ((0.30, 0.33, 0.30), (0.33, 0.33, 0.33), (0.20, 0.22, 0.25), [False, False, False]),
    ],
)
def test_size_claims(few, many, rare, expected):
    def table(*lines):
        return {d: {K: Sample(v) for K, v in zip((1, 10, 40), line, strict=True)} for d, line in lines}

    claims = size_claims(table((20, few), (100, many)), table((20, few), (100, rare)), "rcv1")
    assert verdicts(claims) == expected


def test_both_alignments_appear():
    results = [
        measured(
            {"accuracy": value, "learned:accuracy": value, "learned:macro_f1": value},
            "rcv1-sample1",
            settings={"n_components": d, "n_groups": K},
            **variant,
        )
        for variant, value in (({}, 0.3), ({"variant": REALIGNED}, 0.6))
        for d in (20, 100)
        for K in (1, 10)
    ]
    outcome = SIZES.outcome(results)
    assert len(outcome.pictures) == 4
    last = outcome.claims[-1]
    assert last.holds
    assert "0.300 → 0.600" in last.measured
