"""Tables of means: what stands in the cells, what is best, what is missing, and the three formats."""

import numpy as np
import pytest
from tests.together import together

from cofactor.evaluation import friedman, mean_table, split_scores


def records(table, metric="mae", seconds=None):
    """Return tidy records of {(method, data): values by split}; an exception stands for a failed cell."""
    found = []
    for (method, data), values in table.items():
        for k, value in enumerate(values):
            failed = isinstance(value, Exception)
            record = {"method": method, "data": data, "split": f"kfold {k + 1}/{len(values)}", "seed": 0}
            record |= {"metric": "" if failed else metric, "value": None if failed else value}
            record |= {"status": "failed" if failed else "done", "error": f"{type(value).__name__}: {value}\n  File x"}
            found.append(record | ({} if seconds is None else {"seconds": seconds[method]}))
    return found


TOY = records(
    {
        ("HMF", "ml-100k"): [0.70, 0.72],
        ("ALS", "ml-100k"): [0.75, 0.74],
        ("NMF", "ml-100k"): [0.75, 0.74],
        ("HMF", "toy_1"): [0.81, 0.83],
        ("ALS", "toy_1"): [0.61, 0.60],
        ("NMF", "toy_1"): [0.82, 0.821],
    },
    seconds={"HMF": 0.5, "ALS": 12.345, "NMF": 1234.5},
)
GAPS = [*TOY, *records({("HMF", "big"): [0.9, 0.8], ("NMF", "big"): [0.7, RuntimeError("100% of memory")]})]


def cells(line):
    return [cell.strip() for cell in line.strip("| ").split("|")]


def test_means_deviations_ranks_seconds():
    table = mean_table(TOY, "mae")
    assert table.scores.methods == ("HMF", "ALS", "NMF")
    assert table.scores.data == ("ml-100k", "toy_1")
    np.testing.assert_allclose(table.means, [[0.71, 0.745, 0.745], [0.82, 0.605, 0.8205]])
    assert table.stds[0, 0] == pytest.approx(np.sqrt(0.0002))  # of n - 1, as everywhere in this package
    assert table.scores.ranks.tolist() == [[1, 2.5, 2.5], [2, 1, 3]]
    assert cells(table.markdown().splitlines()[0]) == ["mae ↓", "HMF", "ALS", "NMF"]
    body = [cells(line) for line in table.markdown().splitlines()[2:6]]
    assert body == [
        ["ml-100k", "**0.710 ± 0.014 (1)**", "0.745 ± 0.007 (2.5)", "0.745 ± 0.007 (2.5)"],
        ["toy_1", "0.820 ± 0.014 (2)", "**0.605 ± 0.007 (1)**", "0.821 ± 0.001 (3)"],
        ["average rank", "**1.50**", "1.75", "2.75"],
        ["seconds", "0.50", "12.3", "1,234"],
    ]


def test_what_prints_like_the_best_is_bold_too():
    found = [cells(line) for line in mean_table(TOY, "mae").markdown(digits=1).splitlines()[2:4]]
    assert found[0][1:] == ["**0.7 ± 0.0 (1)**", "**0.7 ± 0.0 (2.5)**", "**0.7 ± 0.0 (2.5)**"]
    assert found[1][1:] == ["0.8 ± 0.0 (2)", "**0.6 ± 0.0 (1)**", "0.8 ± 0.0 (3)"]


def test_the_legend_says_what_is_marked():
    """Also what ranks second is, where it prints like the best."""
    close = mean_table(records({("A", "x"): [0.6771], ("B", "x"): [0.6773]}), "mae")
    assert cells(close.markdown().splitlines()[2]) == ["x", "**0.677 (1)**", "**0.677 (2)**"]
    assert close.text().endswith("(rank); * the best, to the digits shown")
    assert close.markdown().endswith("(rank); bold: the best, to the digits shown")


def test_direction_of_the_metric():
    scored = records({("A", "x"): [0.9], ("B", "x"): [0.8]}, metric="micro_f1")
    assert cells(mean_table(scored, "micro_f1").markdown().splitlines()[2]) == ["x", "**0.900 (1)**", "0.800 (2)"]
    assert "micro_f1 ↑" in mean_table(scored, "micro_f1").text()
    unknown = records({("A", "x"): [0.9], ("B", "x"): [0.8]}, metric="regret")
    with pytest.raises(ValueError, match="'regret' is no measure"):
        mean_table(unknown, "regret")
    assert mean_table(unknown, "regret", greater=False).scores.ranks.tolist() == [[2, 1]]


def test_gaps_have_no_rank_and_a_footnote():
    table = mean_table(GAPS, "mae")
    assert np.isnan(table.scores.values[2]).tolist() == [False, True, True]
    assert table.notes == {(2, 1): "0 of 2 splits", (2, 2): "1 of 2 splits, RuntimeError: 100% of memory"}
    lines = table.markdown().splitlines()
    assert cells(lines[4]) == ["big", "**0.850 ± 0.071**", "– <sup>a</sup>", "0.700 <sup>b</sup>"]
    assert "a: ALS on big: 0 of 2 splits" in lines
    assert "b: NMF on big: 1 of 2 splits, RuntimeError: 100% of memory" in lines
    assert "Average rank and seconds over 2 of 3 data sets, without big" in lines
    assert cells(lines[5]) == ["average rank", "**1.50**", "1.75", "2.75"]


def test_average_ranks_are_those_of_the_test():
    rng = np.random.default_rng(0)
    names = [(f"m{j}", f"d{i}") for i in range(5) for j in range(3)]
    found = records({place: rng.uniform(size=3).round(1) for place in names})
    table = mean_table(found, "mae")
    printed = cells(next(line for line in table.markdown().splitlines() if "average rank" in line))[1:]
    assert [cell.strip("*") for cell in printed] == [f"{rank:.2f}" for rank in friedman(table.scores).average_ranks]


def test_text_is_aligned():
    lines = mean_table(GAPS, "mae").text().splitlines()
    table = lines[: lines.index("")]
    assert {line.index("±") for line in table if "±" in line} == {table[2].index("±")}
    assert len(table[1]) == max(map(len, table))
    assert all(line == line.rstrip() for line in table)
    assert "  *0.710 ± 0.014 (1)  " in table[2]
    assert table[4].endswith(" 0.700 [b]")


def test_methods_become_rows_where_there_is_no_room():
    table = mean_table(TOY, "mae")
    wide = len(table.text().splitlines()[1])
    assert table.text(width=wide) == table.text()
    lines = table.text(width=wide - 1).splitlines()
    assert lines[0].split() == ["mae", "↓", "ml-100k", "toy_1", "average", "rank", "seconds"]
    assert [line.split()[0] for line in lines[2:5]] == ["HMF", "ALS", "NMF"]
    assert lines[2].split()[1:] == ["*0.710", "±", "0.014", "(1)", "0.820", "±", "0.014", "(2)", "*1.50", "0.50"]
    assert lines[5:] == ["", table.text().splitlines()[-1]]


@together("width", [60, 40, 25, 5])
def test_columns_go_below_each_other_where_turning_is_not_enough(width):
    table = mean_table(TOY, "mae")
    lines = table.text(width=width).splitlines()
    body = lines[: -lines[::-1].index("") - 1]
    widest = max(map(len, body))
    assert widest <= max(width, len("mae ↓  *0.710 ± 0.014 (2.5)"))
    blocks = "\n".join(body).split("\n\n")
    assert [line.split()[0] for line in blocks[-1].splitlines()[2:]] == ["HMF", "ALS", "NMF"]
    heads = [name for block in blocks for name in block.splitlines()[0].split()[2:]]
    assert heads == ["ml-100k", "toy_1", "average", "rank", "seconds"]
    (row,) = zip(*(line.split("HMF", 1)[1:] for line in body if line.startswith("HMF")), strict=True)
    assert " ".join("".join(row).split()) == "*0.710 ± 0.014 (1) 0.820 ± 0.014 (2) *1.50 0.50"


def test_methods_that_are_absent_are_named_below():
    table = mean_table(TOY, "mae", absent={"PMF": "failed wherever it ran"})
    for written in (table.text(), table.markdown(), table.latex()):
        assert "PMF failed wherever it ran" in written.split("seconds")[1]


def test_latex_is_escaped_and_well_formed():
    found = records({("A & B", "toy_1"): [0.5, 0.6], ("C", "toy_1"): [0.4, OSError("100% {x}^2 ~ \\")]})
    written = mean_table(found, "mae").latex()
    lines = written.splitlines()
    assert lines[0] == r"\begin{tabular}{lrr}"
    assert lines[-1] == r"\end{tabular}"
    assert lines[2] == r"mae $\downarrow$ & A \& B & C \\"
    assert lines[4] == r"toy\_1 & \textbf{0.550 $\pm$ 0.071} & 0.400$^{a}$ \\"
    assert r"OSError: 100\% \{x\}\textasciicircum{}2 \textasciitilde{} \textbackslash{}" in written
    assert [lines.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]


def test_rows_and_columns_can_be_chosen():
    table = mean_table(TOY, "mae", methods=["ALS", "BPMF", "HMF"], data=["toy_1"])
    assert table.scores.values.shape == (1, 3)
    assert table.means[0, [0, 2]].tolist() == [0.605, pytest.approx(0.82)]
    assert table.notes == {(0, 1): "0 of 2 splits"}


def test_split_scores():
    scores = split_scores(GAPS, "mae", "big")
    assert scores.methods == ("HMF", "NMF")
    assert scores.data == ("kfold 1/2, seed 0", "kfold 2/2, seed 0")
    np.testing.assert_array_equal(scores.values, [[0.9, 0.7], [0.8, np.nan]])
    assert not scores.greater_is_better


def test_what_is_refused():
    with pytest.raises(ValueError, match="nothing was measured under 'rmse', only mae"):
        mean_table(TOY, "rmse")
    with pytest.raises(ValueError, match="HMF has two values of mae on ml-100k, split 'kfold 1/2', seed 0: give"):
        mean_table([*TOY, TOY[0] | {"parameters": '{"alpha": 3}'}], "mae")
    with pytest.raises(ValueError, match="no records of 'ml-1m'"):
        split_scores(TOY, "mae", "ml-1m")
    with pytest.raises(ValueError, match="digits must not be negative"):
        mean_table(TOY, "mae").text(-1)
    with pytest.raises(ValueError, match="only failures, first of A on x: OSError: full$"):
        mean_table(records({("A", "x"): [OSError("full")]}), "mae")
