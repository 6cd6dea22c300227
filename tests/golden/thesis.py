"""Worked examples of the thesis, chapter 3, to their printed digits (tables 3.1-3.17).

Matrices are written as printed, with 0 for an unobserved rating, except where a comment cites docs/corrections.md.
"""

from dataclasses import dataclass

import numpy as np

from cofactor import published


def _matrix(text: str) -> np.ndarray:
    return np.array([[float(word) for word in line.split()] for line in text.strip().splitlines()])


# --- Section 3.2: a bi-level matrix, factors, scores and losses

TABLE_3_1 = published.matrix("thesis-3.1")

TABLE_3_2_U, TABLE_3_2_V = published.matrix("thesis-3.2-U"), published.matrix("thesis-3.2-V")

TABLE_3_3 = _matrix("""
-0.24  0.95  0.46  0.14  0.84 -0.13 -0.81
-0.65  1.46  0.33  0.55  1.06  0.09 -1.23
-1.12  0.92 -0.74  1.21  0.11  0.81 -0.71
-1.02  0.42 -1.02  1.16 -0.35  0.91 -0.27
-0.96  1.06 -0.41  0.99  0.39  0.58 -0.85
-0.47 -0.80 -1.27  0.68 -1.23  0.81  0.75
 0.61  0.56  1.26 -0.81  1.08 -0.87 -0.55
""")

# Column 7 of tables 3.4 and 3.5 is printed as a copy of column 1; here it is the right one (corrections.md, C3).
TABLE_3_4 = _matrix("""
0    0.05 0    0    0.16 0    0.19
0.35 0    0.67 0.45 0    0    0
0    0.08 0.26 0    0    0.19 0.29
0    0.58 0    0    0.65 0.09 0
0.04 0    0.59 0.01 0.61 0    0
0    0.20 0    0.32 0    0.19 0.25
0.39 0.44 0    0.19 0    0    0
""")

TABLE_3_5 = _matrix("""
0    0    0    0    0.01 0    0.02
0.06 0    0.23 0.10 0    0    0
0    0    0.03 0    0    0.02 0.04
0    0.17 0    0    0.21 0    0
0    0    0.17 0    0.19 0    0
0    0.02 0    0.05 0    0.02 0.03
0.08 0.10 0    0.02 0    0    0
""")

# --- Section 3.3: an ordinal matrix, factors, thresholds and scores

TABLE_3_6 = _matrix("""
1 2 4 3 5 2 1 4 3 0   0.22 -0.12  -0.79  1.01  -0.61 -0.18 0.51 1.21
0 4 5 3 2 4 1 1 3 2   0.90  0.05   0.10  1.21  -0.74  0.09 0.69 1.41
4 3 5 5 2 0 2 3 1 4   1.45  0.31   1.51 -0.32  -1.42 -0.65 0.28 0.91
5 0 1 2 3 1 4 3 5 2  -1.52  0.04   0.76  0.63  -1.35 -0.25 0.74 0.96
2 5 3 4 2 4 0 3 1 1   0.94  1.06  -0.53  0.24  -0.50  0.25 0.77 1.44
0 1 5 3 1 5 3 2 4 4   1.09 -1.45   1.45 -0.79  -1.08 -0.60 0.56 1.51
4 2 5 1 4 3 2 5 0 3   0.10  0.14  -0.98 -0.74  -1.10 -0.24 0.34 0.62
2 2 3 1 3 4 5 0 5 4  -0.60 -1.65  -0.17  0.72  -1.41 -0.62 0.13 0.99
5 4 5 2 3 1 4 0 1 2  -0.24  0.71  -0.72 -1.32  -0.73 -0.24 0.02 0.83
3 0 4 5 1 2 1 5 3 4   0.48  0.59   0.39 -0.63  -0.73 -0.51 0.09 0.90
""")
TABLE_3_6_Y = TABLE_3_6[:, :10].astype(int)
TABLE_3_6_U = TABLE_3_6[:, 10:12]
TABLE_3_6_V = TABLE_3_6[:, 12:14]
TABLE_3_6_THETA = TABLE_3_6[:, 14:]

TABLE_3_7 = _matrix("""
-0.30 -0.12  0.37  0.09 -0.15  0.41 -0.13 -0.12  0.00  0.16
-0.66  0.15  1.34  0.72 -0.47  1.27 -0.92 -0.12 -0.71  0.32
-0.83  0.52  2.09  1.30 -0.69  1.86 -1.65 -0.02 -1.45  0.37
 1.24 -0.10 -2.31 -1.13  0.82 -2.24  1.46  0.29  1.04 -0.62
 0.33  1.38  1.08  1.38 -0.24  0.53 -1.71  0.60 -2.08 -0.30
-2.33 -1.65  2.11 -0.09 -0.93  2.73  0.00 -1.23  1.13  1.34
 0.06  0.18  0.11  0.16 -0.02  0.03 -0.20  0.08 -0.26 -0.05
-1.19 -2.06 -0.38 -1.50 -0.08  0.43  1.81 -1.09  2.61  0.81
 0.91  0.84 -0.59  0.26  0.30 -0.91 -0.29  0.55 -0.76 -0.54
 0.22  0.76  0.54  0.74 -0.11  0.23 -0.91  0.34 -1.12 -0.18
""")

#: Losses of entry (1, 3), level 4, worked out in the text after table 3.7.
IMMEDIATE_LOSS, ALL_LOSS = 0.65, 0.75

# --- Section 3.4: the toy example of HMF

TABLE_3_8 = _matrix("""
3 0 0 5 2 0 0
5 4 0 1 5 3 4
1 0 4 0 3 1 0
5 4 0 0 0 0 1
0 3 2 0 5 2 0
""").astype(int)

N_LEVELS = 5


@dataclass(frozen=True)
class Stage:
    """One stage q of HMF: what the thesis prints for it.

    Attributes
    ----------
    bilevel : ndarray
        Y^q: ±1, 0 where unobserved.
    U, V : ndarray
        The factors, to two digits.
    prediction : ndarray
        The bi-level prediction, ±1.
    negatives : str
        Ω^q, the entries predicted as -1, in the notation "ij" of the thesis.
    """

    bilevel: np.ndarray
    U: np.ndarray
    V: np.ndarray
    prediction: np.ndarray
    negatives: str


def _stage(table: str, factors: str, negatives: str) -> Stage:
    both = _matrix(table)
    rows = [np.array(line.split(), dtype=float) for line in factors.strip().splitlines()]
    return Stage(
        bilevel=both[:, :7].astype(int),
        U=np.array([row[:2] for row in rows if len(row) == 4]),
        V=np.array([row[-2:] for row in rows]),
        prediction=both[:, 7:].astype(int),
        negatives=negatives,
    )


STAGES = (
    # Table 3.9.
    _stage(
        """
         1 0 0  1 1  0  0    1  1  1  1 1  1 -1
         1 1 0 -1 1  1  1    1  1  1 -1 1  1  1
        -1 0 1  0 1 -1  0   -1 -1  1 -1 1 -1  1
         1 1 0  0 0  0 -1    1  1 -1  1 1  1 -1
         0 1 1  0 1  1  0    1  1  1 -1 1  1  1
        """,
        """
        -0.48 -0.54  -0.70 -0.63
         0.12 -1.09  -0.36 -0.72
         0.98 -0.13   0.47 -0.53
        -0.77 -0.29  -0.51  0.25
        -0.01 -0.94   0.28 -0.80
                     -0.52 -0.66
                      0.58 -0.37
        """,
        "17 24 31 32 34 36 43 47 54",
    ),
    # Table 3.11.
    _stage(
        """
         1 0  0  1 -1  0  0    1 -1 -1  1 -1  1 -1
         1 1  0 -1  1  1  1    1  1 -1 -1  1  1  1
        -1 0  1  0  1 -1  0   -1 -1  1 -1  1 -1  1
         1 1  0  0  0  0 -1    1  1 -1  1 -1  1 -1
         0 1 -1  0  1 -1  0   -1  1 -1 -1  1 -1  1
        """,
        """
        -0.69 -0.47  -0.89  0.21
        -0.43  1.06  -0.43  0.64
         0.92  0.01   0.42 -0.54
        -0.79  0.05  -0.21 -0.67
         0.24  0.86   0.53  0.76
                     -0.76  0.01
                      0.35  0.56
        """,
        "12 13 15 17 23 24 31 32 34 36 43 45 47 51 53 54 56",
    ),
    # Table 3.13; Ω³ as corrected by corrections.md, C11 (printed: 14, 25, 46 instead of 17, 24, 26, 47).
    _stage(
        """
        -1  0  0  1 -1  0  0   -1 -1  1  1 -1  1 -1
         1  1  0 -1  1 -1  1    1  1 -1 -1  1 -1  1
        -1  0  1  0 -1 -1  0   -1 -1  1  1 -1 -1  1
         1  1  0  0  0  0 -1    1  1 -1 -1  1  1 -1
         0 -1 -1  0  1 -1  0    1  1 -1 -1  1 -1  1
        """,
        """
        -0.42  0.70   0.72 -0.54
         0.26 -1.05   0.80 -0.12
        -0.80  0.44  -0.18  0.68
         0.84  0.08  -0.26  0.62
        -0.05 -0.81   0.26 -0.83
                      0.59  0.52
                     -0.39 -0.57
        """,
        "11 12 15 17 23 24 26 31 32 35 36 43 44 47 53 54 56",
    ),
    # Table 3.15; rows 6 and 7 of V⁴ are missing in the source: these merely give the printed signs.
    _stage(
        """
        -1  0  0  1 -1  0  0   -1  1  1  1 -1  1  1
         1 -1  0 -1  1 -1 -1    1 -1 -1 -1  1 -1 -1
        -1  0 -1  0 -1 -1  0   -1  1 -1  1 -1 -1  1
         1 -1  0  0  0  0 -1    1 -1 -1 -1  1 -1 -1
         0 -1 -1  0  1 -1  0    1 -1 -1 -1  1 -1 -1
        """,
        """
         0.76  0.28  -0.89 -0.15
        -0.76 -0.73   0.54  0.55
         0.81 -0.58  -0.17  0.69
        -0.71 -0.43   0.58  0.35
        -0.43 -0.85  -0.86 -0.27
                      0.30  0.70
                      0.54  0.55
        """,
        "11 15 22 23 24 26 27 31 33 35 36 42 43 44 46 47 52 53 54 56 57",
    ),
)

#: How many rows of each V^q are the printed ones (see stage 4).
PRINTED_ITEMS = (7, 7, 7, 5)

TABLE_3_17 = _matrix("""
3 2 2 5 2 5 1
5 4 2 1 5 3 4
1 1 4 1 3 1 5
5 4 1 3 2 4 1
2 3 2 1 5 2 4
""").astype(int)


def first_hit(predictions: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Complete a matrix by the rule (3.18) as corrected by corrections.md, C8 and C9, in plain Python.

    Parameters
    ----------
    predictions : ndarray of shape (R - 1, n, m)
        ±1 of every stage, or real scores, which count as -1 below 0.
    observed : ndarray of shape (n, m)
        Observed levels, 0 where there is none.

    Returns
    -------
    ndarray of shape (n, m)
        The observed level, else the first stage q which says -1, else R.
    """
    completed = np.empty(observed.shape, dtype=int)
    for i, j in np.ndindex(*observed.shape):
        hits = [q for q, stage in enumerate(predictions, start=1) if stage[i, j] < 0]
        completed[i, j] = observed[i, j] or (hits[0] if hits else len(predictions) + 1)
    return completed
