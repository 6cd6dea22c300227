"""Other libraries on the same split, in the same run: `python benchmarks/peers.py`, with the extra `peers` installed.

Predictions are level-valued: real-valued ones are rounded to the nearest level, ordinal ones give the median level.
Peers run with the settings their authors recommend, or the best of a few tried on the first test split, in their
favour.
"""

import time

import numpy as np
from common import SEEDS, mean_std, ml100k, publish, split_80_20, table
from scipy.sparse import coo_matrix

from cofactor.metrics import rating_report
from cofactor.metrics.ratings import nearest_levels
from cofactor.ratings import ALS, HMF, MMMF, PMMMF, Ensemble

SCALE = np.arange(1.0, 6.0)


def ours(model):
    def run(X, y, test, seed):
        return model.set_params(random_state=seed).fit(X, y).predict(test)

    return run


def surprise_model(make):
    def run(X, y, test, seed):
        import pandas as pd
        from surprise import Dataset, Reader

        frame = pd.DataFrame({"user": X[:, 0], "item": X[:, 1], "rating": y})
        data = Dataset.load_from_df(frame, Reader(rating_scale=(1, 5))).build_full_trainset()
        model = make(seed).fit(data)
        estimates = [model.predict(u, i).est for u, i in test]
        return SCALE[nearest_levels(estimates, SCALE) - 1]

    return run


def surprise_svd(seed):
    from surprise import SVD

    return SVD(random_state=seed)


def surprise_svdpp(seed):
    from surprise import SVDpp

    return SVDpp(random_state=seed)


def cmfrec_als(X, y, test, seed):
    import pandas as pd
    from cmfrec import CMF

    frame = pd.DataFrame({"UserId": X[:, 0], "ItemId": X[:, 1], "Rating": y})
    model = CMF(k=40, lambda_=10.0, method="als", nthreads=2, verbose=False, random_state=seed).fit(frame)
    estimates = model.predict(test[:, 0], test[:, 1])
    known = np.isfinite(estimates)
    return SCALE[nearest_levels(np.where(known, estimates, y.mean()), SCALE) - 1]


def myfm_probit(X, y, test, seed):
    from myfm import MyFMOrderedProbit
    from scipy.sparse import csr_matrix

    users, items = np.unique(X[:, 0]), np.unique(X[:, 1])

    def one_hot(pairs):
        n = len(pairs)
        u, i = np.searchsorted(users, pairs[:, 0]), np.searchsorted(items, pairs[:, 1])
        u_ok = (u < len(users)) & (users[np.minimum(u, len(users) - 1)] == pairs[:, 0])
        i_ok = (i < len(items)) & (items[np.minimum(i, len(items) - 1)] == pairs[:, 1])
        rows = np.concatenate([np.flatnonzero(u_ok), np.flatnonzero(i_ok)])
        columns = np.concatenate([u[u_ok], len(users) + i[i_ok]])
        shape = (n, len(users) + len(items))
        return csr_matrix(coo_matrix((np.ones(len(rows)), (rows, columns)), shape=shape))

    model = MyFMOrderedProbit(rank=10, random_seed=seed)
    groups = [len(users), len(items)]
    model.fit(one_hot(X), (y - 1).astype(int), n_iter=300, n_kept_samples=300, group_shapes=groups)
    probabilities = model.predict_proba(one_hot(test))
    return 1.0 + (np.cumsum(probabilities, axis=1) < 0.5).sum(axis=1)


def main() -> None:
    X, y = ml100k()
    cases = {
        "cofactor Ensemble of 8 MMMF": ours(Ensemble()),
        "cofactor Ensemble of 8 MMMF, bagging": ours(Ensemble(method="bagging")),
        "cofactor MMMF": ours(MMMF()),
        "cofactor MMMF, alpha = 18": ours(MMMF(alpha=18.0)),
        "cofactor HMF": ours(HMF()),
        "cofactor PMMMF": ours(PMMMF()),
        "cofactor ALS": ours(ALS()),
        "myFM ordered probit, median level (rank 10, 300 sweeps)": myfm_probit,
        "scikit-surprise SVD": surprise_model(surprise_svd),
        "scikit-surprise SVD++": surprise_model(surprise_svdpp),
        "cmfrec ALS (k = 40, lambda = 10)": cmfrec_als,
    }
    rows = []
    for name, run in cases.items():
        reports = []
        for seed in SEEDS:
            train, test = split_80_20(len(y), seed)
            began = time.perf_counter()
            predicted = run(X[train], y[train], X[test], seed)
            report = rating_report(y[test], predicted, SCALE)
            report["seconds"] = time.perf_counter() - began
            reports.append(report)
        column = {key: [r[key] for r in reports] for key in reports[0]}
        rows.append(
            [
                name,
                *(mean_std(column[key]) for key in ("mae", "rmse", "zero_one")),
                f"{np.median(column['seconds']):.1f}",
            ]
        )
        print(rows[-1], flush=True)
    publish("peers on MovieLens 100K", table(["method", "MAE", "RMSE", "zero-one", "s, fit and predict"], rows))


if __name__ == "__main__":
    main()
