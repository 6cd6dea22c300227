"""What figure 6.1 of Kumar's thesis measures: which factors the labels of a group use in GroPLE.

The key of a cell holds the source of this module and of all that it imports, so no claims or pictures are imported
here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.experiments.base.label_work import label_set
from cofactor.labels import GroPLE

__all__ = ["group_sparsity"]


def group_sparsity(
    method: str, data: str, split: str, seed: int, *, alpha_u: float, alpha_v: float, n_groups: int
) -> dict[str, Any]:
    """Embed the labels of a whole data set; return V and how sparse it is, group by group.

    Returns
    -------
    dict
        ``V`` and ``groups`` for the picture; ``zero_rows``, the share of (group, factor) pairs with a zero row of V;
        ``within`` and ``between``, the mean overlap (Jaccard index) of the factors that two labels of one group use,
        and two of different groups.

    Examples
    --------
    >>> found = group_sparsity("GroPLE", "emotions", "all", 0, alpha_u=1.0, alpha_v=30.0, n_groups=2)
    >>> found["within"] > found["between"], len(found["groups"])
    (True, 6)
    """
    Y = label_set(data).Y
    model = GroPLE.paper(n_groups=n_groups, alpha_u=alpha_u, alpha_v=alpha_v, tol=1e-5, random_state=seed)
    model.fit(np.zeros((Y.shape[0], 1)), Y)  # V depends on the labels alone
    groups = model.groups_[model.groups_ >= 0]
    used = (model.V_ != 0).astype(float)
    common = used.T @ used
    overlap = common / np.maximum(np.diag(common)[:, None] + np.diag(common) - common, 1)
    same = groups[:, None] == groups
    return {
        "zero_rows": float(np.mean(model.group_sparsity_ == 0)),
        "within": float(overlap[same & ~np.eye(len(groups), dtype=bool)].mean()),
        "between": float(overlap[~same].mean()),
        "factors": int(model.V_.shape[0]),
        "V": model.V_.tolist(),
        "groups": groups.tolist(),
    }
