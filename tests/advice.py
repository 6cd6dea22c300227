"""Calls that go wrong in ways about which messages advise, and the calls that follow the advice."""

# ruff: noqa: E501

from __future__ import annotations

#: Ratings in a database.
SQL = "(lambda base: (base.execute('CREATE TABLE rated (user, item, rating)'), base.executemany('INSERT INTO rated VALUES (?, ?, ?)', table.to_numpy().tolist())) and base)(__import__('sqlite3').connect(':memory:'))"

#: Modules of scikit-learn.
SKLEARN = (
    "feature_extraction",
    "impute",
    "linear_model",
    "model_selection",
    "naive_bayes",
    "neighbors",
    "pipeline",
    "preprocessing",
    "svm",
    "tree",
)

#: Python for names that calls use.
NAMES = {
    "np": "__import__('numpy')",
    "pd": "__import__('pandas')",
    "pl": "__import__('polars')",
    "pa": "__import__('pyarrow')",
    "sql": SQL,
    "QUERY": "'SELECT user, item, rating FROM rated'",
    "sp": "__import__('scipy.sparse').sparse",
    **{name: f"__import__('sklearn.{name}').{name}" for name in SKLEARN},
    "os": "__import__('os')",
    "Path": "__import__('pathlib').Path",
    "service_of": "__import__('cofactor.service', fromlist='x').service_of",
    "FilterFolder": "__import__('cofactor.server.filters', fromlist='x').FilterFolder",
    "cofactor": "__import__('cofactor')",
    "datasets": "__import__('cofactor.datasets').datasets",
    "evaluation": "__import__('cofactor.evaluation').evaluation",
    "labels": "__import__('cofactor.labels').labels",
    "ratings": "__import__('cofactor.ratings').ratings",
    "data": "datasets.make_ratings(30, 20, 2, density=0.5, random_state=0)",
    "X": "data.X",
    "y": "data.y",
    "t": "1e9 + np.arange(len(y))",
    "pairs": "[('ann', 'Up'), ('ann', 'Heat'), ('bob', 'Up'), ('bob', 'Cars'), ('eve', 'Heat'), ('eve', 'Cars')]",
    "stars": "[1, 2, 2, 1, 2, 1]",
    "table": "pd.DataFrame({'user': X[:, 0], 'item': X[:, 1], 'rating': y})",
    "M": "sp.csr_array((y, (X[:, 0], X[:, 1])))",
    "films": "pd.DataFrame({'item': range(20), 'year': range(20)})",
    "als": "ratings.ALS(2, alpha=1.0, random_state=0).fit(X, y)",
    "small": "ratings.ALS(1, alpha=1.0, random_state=0).fit(pairs, stars)",
    "probit": "ratings.OrdinalProbit(1, n_sweeps=3, burn_in=1, random_state=0).fit(X, y)",
    "timed": "ratings.OrdinalProbit(1, n_sweeps=3, burn_in=1, random_state=0, time=True).fit(X, y, time=t)",
    "ease": "ratings.EASE().fit(X)",
    "shop": "ratings.Popularity().fit(pairs, kind=['view', 'buy'] * 3)",
    "implicit": "ratings.ImplicitALS(2, random_state=0).fit(X)",
    "recommender": "ratings.Recommender(ratings.EASE(), ratings.OrdinalProbit(1, n_sweeps=3, burn_in=1), random_state=0).fit(X, y)",
    "clicks": "ratings.Recommender(ratings.EASE(), None, random_state=0).fit(X)",
    "ridge": "labels.LabelRidge().fit(F, L)",
    "bare": "(als.save('bare.cofactor', ratings=False), cofactor.load('bare.cofactor'))[1]",
    "bare_ease": "(ease.save('bare-ease.cofactor', ratings=False), cofactor.load('bare-ease.cofactor'))[1]",
    "bare_recommender": "(recommender.save('bare-r.cofactor', ratings=False), cofactor.load('bare-r.cofactor'))[1]",
    "folded": "als.fold_in([('me', 1), ('me', 2)], [5, 4])",
    "folded_ease": "ease.fold_in([('me', 1), ('me', 2)])",
}

#: Models that are asked over HTTP; the first one answers by default.
SERVED = ("als", "recommender", "ease", "clicks", "folded", "bare", "bare_ease")

FILES = {
    "new.csv": "user,item,rating\n999,1,5\n999,2,4\n",
    "known.csv": "user,item,rating\n1,1,5\n",
    "pairs.csv": "user,item\n1,1\n2,3\n",
    "titles.csv": "item,title\n" + "".join(f"{i},Film {i}\n" for i in range(20)),
    "words.csv": "user,item,rating\n1,1,up\n1,2,down\n2,1,down\n2,2,up\n",
    "counts.csv": "user,item,rating\n" + "".join(f"{u},{i},{u * i + i}\n" for u in range(9) for i in range(9)),
}

#: Calls that go wrong, and below each the calls that follow what it advises.
CASES = r"""
# What is recommended.
als.recommend([999])
    als.fold_in([(999, 1)], [5]).recommend([999])
als.similar_items([999])
    als.similar_items([])
als.similar_items(['1'])
    als.similar_items([1])
als.recommend([1], candidates=[True] * 20)
    als.recommend([1], candidates=als.items_.ids[[True] * 20])
als.recommend([1], exclude=[(1, 2)])
    als.recommend([1], exclude={1: [2]})
als.recommend([1], n=10**9)
    als.recommend([1], n=10)
probit.recommend([1], at_least=4, quantile=0.5)
    probit.recommend([1], at_least=4)
    probit.recommend([1], quantile=0.5)
bare.recommend([1])
    bare.recommend([1], exclude_seen=False)
    als.save('with.cofactor', ratings=True)
bare_ease.recommend([1])
    bare_ease.fold_in([('me', 1)]).recommend(['me'])
    ease.save('with.cofactor', ratings=True)
bare_recommender.recommend([1])
    bare_recommender.fold_in([('me', 1)], [5]).recommend(['me'])
    recommender.save('with.cofactor', ratings=True)
bare.similar_items([1])
    bare.similar_items([1], min_ratings=0)
    als.save('with.cofactor', ratings=True)
folded.similar_items([1])
    als.similar_items([1])
folded.recommend(['me'], rules=ratings.Rules(diversity=1))
    folded.recommend(['me'], rules=ratings.Rules(diversity=1, vectors=als.item_vectors()))
folded.recommend(['me'], rules=ratings.Rules(min_support=1))
    folded.recommend(['me'], candidates=als.items_.ids[:3])
als.recommend([1], 2, rules=ratings.Rules(groups={1: 'a', 2: 'b', 3: 'b', 4: 'a'}, at_least=2))
    als.recommend([1], 4, exclude_seen=False, rules=ratings.Rules(groups={1: 'a', 2: 'b', 3: 'b', 4: 'a'},
    ... at_least=2))
clicks.recommend([1], rank_by='like')
    recommender.recommend([1], rank_by='like')
clicks.predict([(1, 1)])
    clicks.recommend([1])
    recommender.predict([(1, 1)])
recommender.recommend([1], new_items=films)
    ratings.Recommender(ratings.EASE(), None, random_state=0).fit(X, item_features=films).recommend([1],
    ... new_items=films.assign(item=range(50, 70)))
ease.recommend([1], new_items=films)
    ratings.ALS(2, 1.0, random_state=0).fit(X, y, item_features=films).recommend([1],
    ... new_items=films.assign(item=range(50, 70)))
recommender.recommend([1], quantile=0.9)
    recommender.recommend([1], quantile=0.9, rank_by='rating')
ratings.PMF(2, 1.0, link='logistic', solver='lbfgs').fit(X, y).explain(1, [2])
    ratings.PMF(2, 1.0, link='identity', solver='lbfgs').fit(X, y).explain(1, [2])
als.explain([1], [2])
    als.explain(user=1, items=[2])
ratings.MMMF(2, 1.0, random_state=0).fit(X, y).explain(1, [2])
    als.explain(1, [2])
# Predictions and times.
als.predict([(1, 1)], time=1e9)
    als.predict([(1, 1)])
    timed.predict([(1, 1)], time=1e9)
timed.predict([(1, 1)])
    timed.predict([(1, 1)], time=1e9)
als.predict([(998, 1), (999, 1)])
    als.fold_in([(998, 1), (999, 1)], [5, 4]).predict([(998, 1), (999, 1)])
als.score(X)
    als.score(X, y)
# Fits: pairs, ratings, frames, matrices.
ratings.ALS().fit((X[:, 0], X[:, 1]), y)
    ratings.ALS(2, alpha=1.0).fit(list(zip(X[:, 0], X[:, 1])), y)
ratings.ALS().fit(table.assign(item=[[i] for i in X[:, 1]]).pipe(pl.from_pandas))
    ratings.ALS(1, alpha=1.0).fit(table.assign(item=[[i] for i in X[:, 1]]).pipe(pl.from_pandas).explode('item'))
stream = pa.table(table).to_reader(); ratings.ALS(1, alpha=1.0).fit(stream); ratings.ALS().fit(stream)
    ratings.ALS(1, alpha=1.0).fit(pa.table(table).to_reader())
ratings.ALS().fit(sql.execute('SELECT item, item, user, rating FROM rated'))
    ratings.ALS(1, alpha=1.0).fit(sql.execute('SELECT item, item AS same, user, rating FROM rated'))
als.recommend(sql.cursor())
    als.recommend(sql.execute('SELECT DISTINCT user FROM rated'))
als.recommend(films[['item', 'year']])
    als.recommend(films[['item']])
ratings.EASE().fit({'user': [1, 2], 'item': [3, 4]})
    ratings.EASE().fit(pd.DataFrame({'user': [1, 2], 'item': [3, 4]}))
ratings.EASE().fit(pairs[:3]).update(pairs)
    ratings.EASE().fit(pairs[:3]).update(pairs[3:])
Path('d.csv').write_bytes(bytes(8) + b'DUCK'); datasets.read_ratings('d.csv')
    table.to_parquet('t.parquet'); datasets.read_ratings('t.parquet')
    ratings.ALS(1, alpha=1.0).fit(sql.execute(QUERY))
ratings.EASE().fit([*pairs, (7, 'Up')]).recommend().to_frame('polars')
    ratings.EASE().fit([*pairs, (7, 'Up')]).recommend().to_frame(kind='pandas')
    ratings.EASE().fit([*pairs, ('7', 'Up')]).recommend().to_frame('polars')
ratings.ALS().fit(sql.cursor())
    ratings.ALS(1, alpha=1.0).fit(sql.execute(QUERY))
cursor = sql.execute(QUERY); cursor.fetchall(); ratings.ALS().fit(cursor)
    ratings.ALS(1, alpha=1.0).fit(sql.execute(QUERY))
ratings.ALS().fit(sql.execute("SELECT 1 AS user, 1 AS item, 1 AS rating UNION ALL SELECT 'ann', 2, 2"))
    ratings.ALS(1, alpha=1.0).fit(sql.execute("SELECT '1' AS user, 1 AS item, 1 AS rating UNION ALL SELECT 'ann', 2, 2"))
ratings.ALS(1, alpha=1.0).fit(pd.DataFrame({'a': X[:, 0], 'b': X[:, 1], 'c': y}))
    ratings.ALS(1, alpha=1.0).fit(pd.DataFrame({'user': X[:, 0], 'item': X[:, 1], 'rating': y}))
ratings.ALS(1, alpha=1.0).fit(table.rename(columns={'rating': 'plays'}))
    ratings.ALS(1, alpha=1.0).fit(table)
    ratings.Recommender(ratings.EASE(), None).fit(table.rename(columns={'rating': 'plays'}))
ratings.ALS().fit(np.column_stack([X, X]), y)
    ratings.ALS(1, alpha=1.0).fit(X, y)
ratings.ALS().fit(X)
    ratings.ALS(1, alpha=1.0).fit(X, y)
    ratings.ALS(1, alpha=1.0).fit(M)
    ratings.Recommender(ratings.EASE(), None).fit(X)
ratings.ALS().fit(X, y[:, None])
    ratings.ALS(1, alpha=1.0).fit(X, y[:, None].ravel())
ratings.ALS().fit(X, np.where(y > 1, y, np.nan))
    ratings.ALS(1, alpha=1.0).fit(X[y > 1], y[y > 1])
ratings.ALS().fit(pairs, ['down', 'up'] * 3)
    ratings.ALS(1, alpha=1.0).fit(pairs, [{'down': 1, 'up': 2}[word] for word in ['down', 'up'] * 3])
    ratings.ALS(1, alpha=1.0).fit(pairs, pd.Categorical(['down', 'up'] * 3, ['down', 'up'], ordered=True))
    datasets.read_ratings('words.csv', scale=['down', 'up'])
ratings.ALS().fit(X, np.ones(len(y)))
    ratings.ALS(1, alpha=1.0).fit(X, y)
    datasets.read_ratings('counts.csv', bins=5)
    datasets.bin_ratings(range(20), 5)
    ratings.EASE().fit(X)
    ratings.Recommender(ratings.EASE(), None).fit(X)
ratings.ALS().fit(np.vstack([X, X]), np.hstack([y, y]))
    ratings.ALS(1, alpha=1.0).fit(X, y)
    ratings.ALS(1, alpha=1.0, duplicates='last').fit(np.vstack([X, X]), np.hstack([y, y]))
ratings.ALS().fit(table[['item', 'user']], y)
    ratings.ALS(1, alpha=1.0).fit(table[['user', 'item']], y)
ratings.ALS().fit([(None, 1), (2, 3)], [1, 2])
    ratings.ALS(1, alpha=1.0).fit([(4, 1), (2, 3)], [1, 2])
ratings.ALS().fit(np.array([[np.nan, 1], [2, 3]]), [1, 2])
    ratings.ALS(1, alpha=1.0).fit(np.array([[2.0, 3], [2, 4]]), [1, 2])
ratings.ALS(1, alpha=1.0).fit([((1, 2), 1), ((2, 3), 2)], [1, 2]).save('x.cofactor')
    ratings.ALS(1, alpha=1.0).fit([('1 2', 1), ('2 3', 2)], [1, 2]).save('x.cofactor')
ratings.ALS(1, alpha=1.0).fit(X, y, sample_weight=M)
    ratings.ALS(1, alpha=1.0).fit(X, y, sample_weight=y)
ratings.ALS(1, alpha=1.0).fit(X, y, sample_weight=y * 1e300)
    ratings.ALS(1, alpha=1.0).fit(X, y, sample_weight=y * 1e300 * 1e-300)
# Parameters.
ratings.ALS(1, alpha=1.0, unknown='error').fit(X, y).predict([(999, 1)])
    ratings.ALS(1, alpha=1.0, unknown='fallback').fit(X, y).predict([(999, 1)])
    als.fold_in([(999, 1)], [5]).predict([(999, 1)])
ease.item_vectors(for_='scores')
    implicit.item_vectors(for_='scores')
    ease.item_vectors()
ratings.RatingNMF(1, alpha=1.0).fit(X, y, sample_weight=y)
    ratings.RatingNMF(1, alpha=1.0).fit(X, y)
    ratings.ALS(1, alpha=1.0).fit(X, y, sample_weight=y)
ratings.EASE(recency=10).fit(X)
    ratings.EASE(recency=10).fit(X, time=t)
    ratings.EASE().fit(X)
probit.drift([1], 1e9)
    timed.drift([1], 1e9)
ratings.ALS(1, alpha=1.0, duplicates='mean').fit(np.vstack([X, X]), np.hstack([y, y]),
... sample_weight=np.arange(2 * len(y)) + 1)
    ratings.ALS(1, alpha=1.0).fit(X, y, sample_weight=y)
als.fold_in([('me', 1), ('me', 1)], [4, 5])
    als.fold_in([('me', 1)], [5])
    ratings.ALS(1, alpha=1.0).fit(X, y).set_params(duplicates='last').fold_in([('me', 1), ('me', 1)], [4, 5])
ratings.BinaryMMMF().fit(X, y)
    ratings.MMMF(1, 1.0).fit(X, y)
    ratings.BinaryMMMF(1, 1.0).fit(X, 1 + (y > 3))
ratings.HMF(1, alpha=[1.0, 2.0]).fit(X, y)
    ratings.HMF(1, alpha=1.0).fit(X, y)
    ratings.HMF(1, alpha=[1.0] * 4).fit(X, y)
ratings.PMF(1, alpha=1.0, solver='sgd').fit(X, y, sample_weight=y)
    ratings.PMF(1, alpha=1.0, solver='als').fit(X, y, sample_weight=y)
    ratings.PMF(1, alpha=1.0, solver='lbfgs').fit(X, y, sample_weight=y)
ratings.MMMF(2, 0.01, max_iter=1, random_state=0).fit(X, y)
    ratings.MMMF(2, 1.0, max_iter=1000, random_state=0).fit(X, y)
ratings.OrdinalProbit(1, n_sweeps=3, burn_in=1, time=True).fit(X, y)
    ratings.OrdinalProbit(1, n_sweeps=3, burn_in=1, time=True).fit(X, y, time=t)
ratings.Recommender(ratings.EASE(), probit).fit(X)
    ratings.Recommender(ratings.EASE(), None).fit(X)
    ratings.Recommender(ratings.EASE()).fit(X)
ratings.Recommender(ratings.EASE()).fit(X, np.arange(len(y)))
    ratings.Recommender(ratings.EASE(), None).fit(X, np.arange(len(y)))
    ratings.EASE().fit(X, np.arange(len(y)))
ratings.Recommender(ratings.EASE(), None).fit(X, user_features=pd.DataFrame({'user': range(30), 'age': range(30)}))
    ratings.Recommender(ratings.EASE(), None).fit(X)
ratings.EASE().fit(X, y)
    ratings.EASE().fit(X)
    ratings.EASE().fit(X, sample_weight=y)
ratings.EASE().fit(M)
    ratings.EASE().fit(M.astype(bool))
    ratings.EASE().fit(M.astype(bool), sample_weight=M)
ratings.Popularity().fit(pairs, kind=[None, *['view'] * 5])
    ratings.Popularity().fit(pairs[1:], kind=['view'] * 5)
shop.fold_in([('me', 'Up')], kind=['wish'])
    shop.fold_in([('me', 'Up')], kind=['view'])
ratings.Popularity().fit(pairs, target='buy')
    ratings.Popularity().fit(pairs, kind=['view', 'buy'] * 3, target='buy')
ratings.Popularity().fit(pairs[:3]).update(pairs[3:], kind=['buy'] * 3)
    ratings.Popularity().fit(pairs[:3]).update(pairs[3:])
ratings.EASE().fit(X, -y)
    ratings.EASE().fit(X)
# New users and items.
als.fold_in([(1, 1)], [5])
    als.fold_in([(1, 1)], [5], known='merge')
    als.fold_in([(1, 1)], [5], known='replace')
als.fold_in([('me', 1)], [9])
    als.fold_in([('me', 1)], [5])
als.fold_in([('me', 999)], [5])
    als.fold_in([('me', 1)], [5])
als.fold_in()
    als.fold_in([('me', 1)], [5])
als.fold_in([('me', 1)], [5], user_features=pd.DataFrame({'user': ['me'], 'age': [3]}))
    als.fold_in([('me', 1)], [5])
als.fold_in(M[:2], known='merge')
    als.fold_in([(1, 1)], [5], known='merge')
bare.fold_in([(1, 1)], [5], known='merge')
    bare.fold_in([(1, 1)], [5], known='replace')
    als.save('with.cofactor', ratings=True)
folded.update([('you', 1)], [5])
    als.update([('you', 1)], [5])
recommender.update([('you', 1)])
    recommender.update([('you', 1)], [5])
    ratings.Recommender(ratings.EASE(), ratings=None).fit(X)
# HTTP.
GET /v1/users/999/recommendations
    POST /v1/recommendations {"users": [{"ratings": [{"item": 1, "rating": 5}]}]}
POST /v1/recommendations {"users": [1], "n": 51}
    POST /v1/recommendations {"users": [1], "n": 50}
POST /v1/recommendations {"users": [1, 2, 3], "n": 50}
    POST /v1/recommendations {"users": [1, 2, 3], "n": 30}
    POST /v1/recommendations {"users": [1, 2], "n": 50}
POST /v1/recommendations {"users": [999]}
    POST /v1/recommendations {"users": [{"ratings": [{"item": 1, "rating": 5}]}]}
POST /v1/recommendations {"users": [{"ratings": [{"item": "none", "rating": 5}]}]}
    POST /v1/recommendations {"users": [{"ratings": [{"item": 1, "rating": 5}]}]}
POST /v1/recommendations {"users": [{"ratings": [{"item": 1}]}]}
    POST /v1/recommendations {"users": [{"ratings": [{"item": 1, "rating": 5}]}]}
POST /v1/recommendations {"users": [{"ratings": [{"item": 1}, {"item": 2, "rating": 5}]}], "model": "recommender"}
    POST /v1/recommendations {"users": [{"ratings": [{"item": 1, "rating": 5}]}], "model": "recommender"}
    POST /v1/recommendations {"users": [{"ratings": [{"item": 1}, {"item": 2}]}], "model": "recommender"}
POST /v1/recommendations {"users": [1], "candidates": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}
    PUT /v1/filters/some {"items": [1]}
    POST /v1/recommendations {"users": [1], "exclude_seen": false, "candidates": "some"}
GET /v1/users/1/recommendations?candidates=1&candidates_filter=some
    GET /v1/users/1/recommendations?candidates_filter=some
GET /v1/users/1/recommendations?candidates=some
    GET /v1/users/1/recommendations?candidates_filter=some
POST /v1/recommendations {"users": [1], "rules": {"boost": "some"}}
    PUT /v1/filters/some {"items": {"1": 2}}
    POST /v1/recommendations {"users": [1], "rules": {"boost": "some"} }
POST /v1/recommendations {"users": [1], "rules": {"boost": {"0": 1, "1": 1, "2": 1, "3": 1, "4": 1, "5": 1, "6": 1,
... "7": 1, "8": 1, "9": 1, "10": 1}}}
    PUT /v1/filters/offers {"items": {"1": 2}}
    POST /v1/recommendations {"users": [1], "rules": {"boost": "offers"}}
POST /v1/recommendations {"users": [1], "rules": {"boost": {"1": 1, "1.0": 2}}}
    POST /v1/recommendations {"users": [1], "rules": {"boost": {"1": 1}}}
PUT /v1/filters/other {"items": ["none"]}
    PUT /v1/filters/other {"items": [1]}
ask('GET /v1/filters', filters=False)
    cofactor serve als.cofactor --filters filters --port 0
open('filters/torn.json', 'w').close(); ask('GET /v1/filters/torn')
    PUT /v1/filters/torn {"items": [1]}
os.makedirs('filters/full.json', exist_ok=True); ask('PUT /v1/filters/full {"items": [1]}')
    cofactor serve als.cofactor --filters filters --port 0
(lambda folder: (os.rmdir('gone'), folder.names()))(os.makedirs('gone', exist_ok=True) or FilterFolder('gone', 9))
    os.makedirs('gone', exist_ok=True) or FilterFolder('gone', 9).names()
FilterFolder('nowhere', 9)
    FilterFolder('filters', 9)
als.recommend([1], candidates=ratings.IdMap([1, 'other']).select([1]))
    als.recommend([1], exclude_seen=False, candidates=als.items_.select([1]))
cofactor similar als.cofactor
    cofactor similar als.cofactor --item 1
    cofactor similar als.cofactor --user 1 --min-ratings 0
POST /v1/recommendations {"users": [1], "model": "recommender", "quantile": 0.8}
    POST /v1/recommendations {"users": [1], "model": "recommender", "quantile": 0.8, "rank_by": "rating"}
POST /v1/recommendations {"users": [1], "model": "ease", "rank_by": "like"}
    POST /v1/recommendations {"users": [1], "model": "recommender", "rank_by": "like"}
POST /v1/recommendations {"users": [1], "rank_by": "interaction"}
    POST /v1/recommendations {"users": [1], "rank_by": "interaction", "model": "recommender"}
POST /v1/recommendations {"users": [{"ratings": [{"item": 1, "rating": 5}]}], "model": "ease"}
    POST /v1/recommendations {"users": [{"ratings": [{"item": 1}]}], "model": "ease"}
POST /v1/recommendations {"users": [{"ratings": [{"item": 1, "rating": 5}, {"item": 1, "rating": 4}]}]}
    POST /v1/recommendations {"users": [{"ratings": [{"item": 1, "rating": 5}]}]}
POST /v1/recommendations {"users": [1], "model": "bare"}
    POST /v1/recommendations {"users": [1], "model": "bare", "exclude_seen": false}
    als.save('with.cofactor', ratings=True)
POST /v1/recommendations {"users": [1], "model": "bare_ease"}
    POST /v1/recommendations {"users": [{"ratings": [{"item": 1}]}], "model": "bare_ease"}
    ease.save('with.cofactor', ratings=True)
POST /v1/recommendations?n=3 {"users": [1]}
    POST /v1/recommendations {"users": [1], "n": 3}
POST /v1/recommendations {
    POST /v1/recommendations {"users": [1]}
POST /v1/recommendations {"users": [1], "n": 3, "n": 4}
    POST /v1/recommendations {"users": [1], "n": 3}
GET /v1/users/1/recommendations?n=3&n=4
    GET /v1/users/1/recommendations?n=3
GET /v1/users/1/recommendations?n=none
    GET /openapi.json
GET /v2
    GET /openapi.json
GET /v1/items/none/similar
    GET /v1/items
GET /v1/items/1/similar?model=folded
    GET /v1/items/1/similar?model=als
GET /v1/items/1/similar?model=bare
    GET /v1/items/1/similar?model=bare&min_ratings=0
    als.save('with.cofactor', ratings=True)
POST /v1/predictions {"model": "ease", "pairs": [{"user": 1, "item": 1}]}
    POST /v1/recommendations {"model": "ease", "users": [1]}
    POST /v1/predictions {"model": "recommender", "pairs": [{"user": 1, "item": 1}]}
POST /v1/explanations {"user": 1, "items": [1], "row": [1]}
    POST /v1/explanations {"user": 1, "items": [1]}
POST /v1/explanations {"user": 1, "items": [1, 2, 3], "n": 50}
    POST /v1/explanations {"user": 1, "items": [1, 2, 3], "n": 20}
# A shell.
cofactor recommend als.cofactor --user 999
    cofactor recommend als.cofactor --ratings new.csv --user 999 -n 3
cofactor recommend als.cofactor
    cofactor recommend als.cofactor --user 1 -n 3
    cofactor recommend als.cofactor --all -n 3
    cofactor recommend als.cofactor --ratings new.csv -n 3
cofactor recommend als.cofactor --user 1 --all
    cofactor recommend als.cofactor --user 1 -n 3
    cofactor recommend als.cofactor --all -n 3
cofactor recommend als.cofactor --user 1 --known merge
    cofactor recommend als.cofactor --ratings known.csv -n 3 --known merge
cofactor recommend recommender.cofactor --user 1 --quantile 0.8
    cofactor recommend recommender.cofactor --user 1 -n 3 --quantile 0.8 --rank-by rating
cofactor recommend recommender.cofactor --user 1 --quantile 0.8 --at-least 4
    cofactor recommend recommender.cofactor --user 1 -n 3 --quantile 0.8 --rank-by rating
    cofactor recommend recommender.cofactor --user 1 -n 3 --at-least 4
cofactor recommend ease.cofactor --user 1 --rank-by like
    cofactor recommend recommender.cofactor --user 1 -n 3 --rank-by like
cofactor recommend als.cofactor --user 1 --rank-by interaction
    cofactor recommend recommender.cofactor --user 1 -n 3 --rank-by interaction
cofactor recommend bare.cofactor --user 1
    cofactor recommend bare.cofactor --user 1 -n 3 --include-seen
    als.save('with.cofactor', ratings=True)
cofactor similar bare.cofactor --item 1
    cofactor similar bare.cofactor --item 1 --min-ratings 0
    als.save('with.cofactor', ratings=True)
cofactor similar folded.cofactor --item 1
    cofactor similar als.cofactor --item 1
cofactor similar als.cofactor --user 1 --titles new.csv
    cofactor similar als.cofactor --user 1
    cofactor similar als.cofactor --item 1 --titles titles.csv
cofactor recommend als.cofactor --user 1 -n 3 --titles new.csv
    cofactor recommend als.cofactor --user 1 -n 3 --titles titles.csv
cofactor predict ease.cofactor new.csv
    cofactor recommend ease.cofactor --user 1 -n 3
    cofactor predict recommender.cofactor pairs.csv
cofactor fit new.csv --out nowhere/als.cofactor
    cofactor fit words.csv --model als --levels down,up --alpha 5 --factors 1 --out there.cofactor
"""
