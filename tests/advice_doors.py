"""Further cases of advice: of commands, servers, files of tasks, evaluations and pictures."""

# ruff: noqa: E501

from __future__ import annotations

#: Python for names that calls use.
NAMES: dict[str, str] = {
    "plots": "__import__('cofactor.plots').plots",
    "Dummy": "__import__('sklearn.dummy', fromlist='dummy').DummyRegressor",
    "changed": "__import__('sklearn.compose', fromlist='x').TransformedTargetRegressor",
    "odd": "__import__('types').SimpleNamespace(of=lambda: 3)",
    "tagged": "datasets.load_labels('sky.csv', ['sail', 'read'])",
    "tagger": "labels.LabelRidge.paper().fit(tagged)",
    "fixed": "labels.LabelRidge.paper().set_params(threshold=0.0).fit(tagged)",
    "chance": "labels.LabelRidge(threshold='auto').fit(tagged)",
    "plst": "labels.PLST().fit(tagged)",
    "daily": "labels.LabelRidge(updatable=True).fit(tagged)",
    "omf": "labels.OMF(n_components=1, max_iter=5, random_state=0).fit(tagged)",
    "notes": "labels.LabelRidge.paper().fit(datasets.load_labels('notes.csv', ['sail', 'read']))",
    "semi": "labels.LabelRidge.paper().fit(tagged.X, tagged.Y.toarray(), label_names=['a;b', 'c'])",
    "unnamed": "labels.LabelRidge.paper().fit(tagged.X, tagged.Y.toarray())",
    "vectorized": "pipeline.make_pipeline(feature_extraction.text.TfidfVectorizer(), labels.LabelRidge.paper()).fit(['wind', 'rain'] * 3, [[0], [1]] * 3)",
    "mddm": "labels.MDDM(n_components=1).fit(tagged.X, tagged.Y.toarray())",
    "ALS": "ratings.ALS(2, alpha=1.0, random_state=0)",
    "Ridge": "labels.LabelRidge.paper()",
    "store": "evaluation.ResultStore",
    "described": "__import__('dataclasses').replace(data, features={'item_features': films})",
    "three": "evaluation.Scores([[1.0, 2.0, 3.0 + k] for k in range(7)], ['a', 'b', 'c'], greater_is_better=False)",
    "folds": "evaluation.Scores([[0.7, 0.8], [0.6, 0.9], [0.7, 0.7]], ['a', 'b'], greater_is_better=False)",
    "rankings": "evaluation.evaluate_recommendations(ratings.EASE(), X, y, at=3)",
    "server": "__import__('cofactor.server', fromlist='x')",
    "local": "server.Access(server.served_hosts('127.0.0.1'))",
    "locked": "server.Access(None, server.Keys(['k' * 20]))",
    "pickle": "__import__('pickle')",
    "sys": "__import__('sys')",
    "mock": "__import__('unittest.mock', fromlist='x')",
    "cache": "__import__('cofactor.kernels.cache', fromlist='x')",
    "demo": "__import__('cofactor.cli.demo', fromlist='x')",
    "served": "server.Served('default', service_of(als))",
    "app": "server.application({'default': served})",
    "source": "server.ModelFile('default', __import__('shutil').copy('als.cofactor', 'touched.cofactor'), lambda *_: None)",
    "ignore": "lambda: __import__('warnings').simplefilter('ignore')",
    "held": "__import__('cofactor.server.worker', fromlist='x').Listening('127.0.0.1', 0)",
    "free": "held.getsockname()[1]",
    "KNOWN": "'home/movielens/ml-100k/u.data'",
    "unsourced": "__import__('tests.mishaps', fromlist='x').unsourced",
    "two": "{'mean': Dummy(), 'median': Dummy(strategy='median')}",
    "toy": "{'toy': (X, y)}",
}

#: Models that are asked over HTTP besides those of `advice`.
SERVED = ("tagger", "fixed", "chance", "notes")

#: Models of which there are files, besides those.
SAVED = ("semi", "unnamed", "mddm", "plst", "daily", "vectorized")

FILES: dict[str, str] = {
    "good.csv": "user,item,rating\n" + "".join(f"{u},{i},{1 + (u * i + u) % 5}\n" for u in range(12) for i in range(8)),
    "second.csv": "user,item,rating\n"
    + "".join(f"{u},{i},{1 + (u * i + i) % 5}\n" for u in range(12) for i in range(8)),
    "clicked.csv": "user,item\n" + "".join(f"{u},{i}\n" for u in range(12) for i in range(8) if (u + i) % 3),
    "sky.csv": "wind,rain,sail,read\n"
    + "".join(f"{k % 5},{k % 3},{int(k % 5 > 2)},{int(k % 3 > 1)}\n" for k in range(30)),
    "played.csv": "user,item,plays\n" + "".join(f"{u},{i},{u * 8 + i + 1}\n" for u in range(30) for i in range(8)),
    "blooms.csv": "size,colour,wind,sail,read\n"
    + "".join(
        f"{k % 5},{('red', 'blue', 'green')[k % 3]},{k % 4},{int(k % 5 > 2)},{int(k % 3 > 1)}\n" for k in range(30)
    ),
    "notes.csv": "colour,size,sail,read\n"
    + "".join(f"{('red', 'blue', 'green')[k % 3]},{k % 5},{int(k % 5 > 2)},{int(k % 3 > 1)}\n" for k in range(30)),
    "bare.arff": "@relation weather\n@attribute wind numeric\n@attribute rain numeric\n@data\n1,2\n3,4\n",
    "written.csv": "number,body\n1,wind and rain\n2,rain\n",
    "weather.csv": "wind,rain\n1,2\n4,0\n",
    "repeated.csv": "user,item,rating\n"
    "7,1,3\n7,1,4\n" + "".join(f"{u},{i},{1 + (u * i) % 5}\n" for u in range(50, 55) for i in range(8)),
    "real.csv": "user,item,rating\n" + "".join(f"{u},{i},{(u * 8 + i) / 7:.4f}\n" for u in range(30) for i in range(8)),
    "listens.csv": "user,item,rating\n" + "".join(f"{u},{i},{u * 8 + i + 1}\n" for u in range(30) for i in range(8)),
    "same.csv": "user,item,rating\n" + "".join(f"{u},{i},{1 + i % 5}\n" for u in range(5) for i in range(8)) * 2,
    "folder/good.csv": "user,item,rating\n"
    + "".join(f"{u},{i},{1 + (u + i) % 5}\n" for u in range(12) for i in range(8)),
    "names.toml": "data = { one = 'good.csv', two = 'folder/good.csv' }\n[[methods]]\nname = 'ALS'\nparameters = { n_factors = 1, alpha = 1.0 }\n",
    "broken.csv": 'item,title\n1,"Up\n' + "2,x" * 70000,
    "home/movielens/ml-100k/u.data": "".join(
        f"{u}\t{i}\t{1 + (u * i + u) % 5}\t{880000000 + u * i}\n" for u in range(1, 13) for i in range(1, 9)
    ),
    "home/movielens/ml-100k/u.item": "".join(
        f"{i}|Film {i}|01-Jan-1995||http://x|{'|'.join('0' * 19)}\n" for i in range(1, 9)
    ),
    "words.md": "# What was found\n",
    "one.toml": "data = ['good.csv']\n[[methods]]\nname = 'ALS'\nparameters = { n_factors = 1, alpha = 1.0 }\n",
}

#: Calls that go wrong, and below each the calls that follow what it advises.
CASES = r"""
# Options that exclude each other, or go together.
cofactor compare good.csv --seeds 0,0
    cofactor compare good.csv second.csv --model als --alpha 1 --factors 1 --splits 2 --seeds 0
cofactor compare one.toml --model als
    cofactor compare one.toml
cofactor compare good.csv good.csv
    cofactor compare good.csv second.csv --model als --alpha 1 --factors 1 --splits 2
cofactor compare good.csv folder/good.csv --model als --alpha 1
    cofactor compare names.toml
    cofactor compare good.csv second.csv --model als --alpha 1 --factors 1 --splits 2
cofactor evaluate sky.csv --labels sail,read --out x.csv
    cofactor evaluate sky.csv --labels sail,read --splits 2 --by-label --out x.csv
cofactor evaluate good.csv --rank --at 0
    cofactor evaluate good.csv --rank --at 10 --model ease
    cofactor evaluate good.csv --rank --at 10,20 --model ease
cofactor evaluate good.csv --at 5
    cofactor evaluate good.csv --rank --at 5 --model ease
cofactor explain tagger.cofactor --user 1
    cofactor explain tagger.cofactor weather.csv --label sail
cofactor explain als.cofactor --user 1
    cofactor explain als.cofactor --user 1 --item 2
cofactor predict - -
    cofactor predict als.cofactor pairs.csv
cofactor info new.csv
    cofactor fit new.csv --model als --alpha 1 --out new.cofactor
cofactor predict als.cofactor pairs.csv --out pairs.csv
    cofactor predict als.cofactor pairs.csv --out predicted.csv
cofactor fit good.csv --model als --alpha 1 --out pairs.csv
    cofactor fit good.csv --model als --alpha 1 --out x.cofactor
cofactor fit good.csv --labels a --rating rating
    cofactor fit sky.csv --labels sail,read --out x.cofactor
    cofactor fit good.csv --model als --alpha 1 --factors 1 --out x.cofactor --rating rating
cofactor fit good.csv --param max_iter=2 --param max_iter=3
    cofactor fit good.csv --model als --alpha 1 --factors 1 --out x.cofactor --param max_iter=50
cofactor fit good.csv --model als --factors 1 --param n_factors=2
    cofactor fit good.csv --model als --alpha 1 --param n_factors=2 --out x.cofactor
cofactor fit good.csv --model als --param duplicates=last
    cofactor fit good.csv --model als --alpha 1 --factors 1 --out x.cofactor --duplicates last
cofactor fit good.csv --model item-knn --factors 3
    cofactor fit good.csv --model item-knn --param n_neighbors=3 --out x.cofactor
cofactor recommend tagger.cofactor --user 1
    cofactor predict tagger.cofactor weather.csv
    cofactor predict --help
cofactor reproduce all --quick --full
    cofactor reproduce thesis-figure-3.1 --quick --store x.sqlite --document page --words words.md
cofactor reproduce all list
    cofactor reproduce list
cofactor reproduce thesis-figure-3.1 --from-store --retry
    cofactor reproduce thesis-figure-3.1 --quick --store x.sqlite --document page --words words.md
cofactor reproduce thesis-figure-3.1 --words words.md
    cofactor reproduce thesis-figure-3.1 --quick --store x.sqlite --document page --words words.md
cofactor reproduce --list
    cofactor reproduce list
    cofactor reproduce --help
cofactor recommend
    cofactor recommend --help
cofactor serve als.cofactor ease.cofactor --port 0
    cofactor serve als.cofactor NAME=ease.cofactor --port 0
cofactor serve a=als.cofactor a=ease.cofactor --port 0
    cofactor serve a=als.cofactor b=ease.cofactor --port 0
cofactor serve als.cofactor --titles titles.csv --titles titles.csv --port 0
    cofactor serve als.cofactor --titles titles.csv --port 0
cofactor serve als.cofactor --port 0 --host 203.0.113.1
    cofactor serve als.cofactor --port 0 --host 127.0.0.1
held.open(); command(f'serve als.cofactor --port {held.getsockname()[1]}')
    held.close(); command(f'serve als.cofactor --port {free}')
cofactor shard good.csv
    cofactor shard good.csv --out shards1
    cofactor shard second.csv --into shards1 --duplicates last
    cofactor shard --verify shards1
cofactor shard --out shards2
    cofactor shard good.csv --out shards2
cofactor shard good.csv --into shards1 --shards 2
    cofactor shard good.csv --out shards3 --shards 2
cofactor shard good.csv --into shards1 --levels 1:5
    cofactor shard second.csv --into shards1 --duplicates last
cofactor recommend shards1 --user 1
    cofactor fit shards1 --model als --alpha 5 --factors 1 --out model.cofactor
cofactor fit shards1 --model als --alpha 5 --factors 1 --levels 1:5
    cofactor fit shards1 --model als --alpha 5 --factors 1 --out model.cofactor
cofactor evaluate shards1
    cofactor evaluate good.csv --model als --alpha 1 --factors 1 --splits 2
    ratings.ShardedRatings.open('shards1')
# Models and options of tasks.
cofactor evaluate good.csv --model als --model ALS
    cofactor evaluate good.csv --model als --alpha 1 --factors 1 --splits 2
cofactor fit sky.csv --labels sail,read --model mddm
    cofactor fit sky.csv --labels sail,read --model label-ridge --out x.cofactor
cofactor fit good.csv --levels 3:1
    cofactor fit good.csv --model als --alpha 1 --factors 1 --out x.cofactor --levels 1,2,3,4,5
    cofactor fit good.csv --model als --alpha 1 --factors 1 --out x.cofactor --levels 1:5
    cofactor fit good.csv --model als --alpha 1 --factors 1 --out x.cofactor --levels 0.5:5:0.5
    cofactor fit words.csv --model als --alpha 1 --factors 1 --levels down,up --out x.cofactor
cofactor evaluate clicked.csv --likes 4
    cofactor evaluate clicked.csv --model ease --at 3
cofactor fit good.csv --implicit --rating rating
    cofactor fit good.csv --model ease --implicit --out x.cofactor
    cofactor fit good.csv --model als --alpha 1 --factors 1 --out x.cofactor --rating rating
cofactor fit clicked.csv --model als
    cofactor fit clicked.csv --model ease --out x.cofactor
    cofactor fit good.csv --model als --alpha 1 --factors 1 --out x.cofactor --rating rating
    cofactor fit counts.csv --model als --alpha 1 --factors 1 --bins 5 --out x.cofactor
cofactor evaluate good.csv --model ease
    cofactor evaluate good.csv --model ease --rank
cofactor compare good.csv clicked.csv
    cofactor compare good.csv second.csv --model als --alpha 1 --factors 1 --splits 2
    cofactor compare good.csv clicked.csv --model ease --implicit --splits 2
cofactor similar als.cofactor --user 999
    cofactor update als.cofactor new.csv --out updated.cofactor
    cofactor similar updated.cofactor --user 999 --min-ratings 0
cofactor update plst.cofactor sky.csv
    cofactor fit sky.csv --labels sail,read --model plst --out x.cofactor
cofactor update daily.cofactor sky.csv --out x.cofactor
    cofactor fit sky.csv --labels sail,read --param updatable=true --out x.cofactor
cofactor update tagger.cofactor sky.csv
    cofactor fit sky.csv --labels sail,read --param updatable=true --out x.cofactor
    cofactor update x.cofactor sky.csv --out y.cofactor
cofactor update als.cofactor clicked.csv
    cofactor update als.cofactor new.csv --rating rating --out x.cofactor
    cofactor fit good.csv --model ease --implicit --out clicked.cofactor
    cofactor update clicked.cofactor clicked.csv --out x.cofactor
cofactor recommend als.cofactor --ratings clicked.csv
    cofactor recommend als.cofactor --ratings new.csv --rating-column rating -n 3
    cofactor recommend recommender.cofactor --ratings pairs.csv --known replace -n 3
cofactor recommend als.cofactor --ratings repeated.csv
    cofactor recommend als.cofactor --ratings new.csv -n 3
cofactor fit repeated.csv
    cofactor fit good.csv --model als --alpha 1 --factors 1 --out x.cofactor
    cofactor fit repeated.csv --model als --alpha 1 --factors 1 --duplicates last --out x.cofactor
    cofactor fit repeated.csv --model als --alpha 1 --factors 1 --duplicates mean --out x.cofactor
cofactor fit same.csv
    cofactor fit good.csv --model als --alpha 1 --factors 1 --out x.cofactor
    cofactor fit same.csv --model als --alpha 1 --factors 1 --duplicates mean --out x.cofactor
    cofactor fit same.csv --model als --alpha 1 --factors 1 --duplicates last --out x.cofactor
cofactor fit real.csv
    cofactor fit real.csv --model als --alpha 1 --factors 1 --bins 5 --out x.cofactor
    cofactor fit real.csv --model ease --implicit --out x.cofactor
cofactor fit listens.csv
    cofactor fit listens.csv --model als --alpha 1 --factors 1 --bins 5 --out x.cofactor
    cofactor fit listens.csv --model ease --count rating --out x.cofactor
    cofactor fit listens.csv --model ease --implicit --out x.cofactor
cofactor fit ml-100k --task labels
    cofactor fit ml-100k --model als --alpha 1 --factors 1 --out x.cofactor
cofactor fit emotions --task ratings
    cofactor fit sky.csv --labels sail,read --out x.cofactor
cofactor fit sky.csv --labels sail --xml tags.xml
    cofactor fit sky.csv --labels sail,read --out x.cofactor
cofactor predict tagger.cofactor weather.csv --top 1 --scores
    cofactor predict tagger.cofactor weather.csv --top 1
cofactor predict chance.cofactor weather.csv --proba --scores
    cofactor predict chance.cofactor weather.csv --proba
cofactor explain chance.cofactor weather.csv
    cofactor fit sky.csv --labels sail,read --out x.cofactor --param kernel=linear
cofactor predict fixed.cofactor weather.csv --proba
    cofactor fit sky.csv --labels sail,read --threshold auto --out x.cofactor
    cofactor predict chance.cofactor weather.csv --proba
cofactor predict chance.cofactor weather.csv --precision 0.9 --proba
    cofactor predict chance.cofactor weather.csv --proba
cofactor predict chance.cofactor weather.csv --coverage 0.9 --top 1
    cofactor predict chance.cofactor weather.csv --coverage 0.9
cofactor recommend als.cofactor --user 1 --titles broken.csv
    cofactor recommend als.cofactor --user 1 --titles titles.csv -n 3
cofactor fit ml-100k --count plays
    cofactor fit ml-100k --model ease --implicit --out x.cofactor
    cofactor fit listens.csv --model ease --count rating --out x.cofactor
cofactor fit sky.csv --labels ,
    cofactor fit sky.csv --labels sail,read --out x.cofactor
cofactor fit blooms.csv
    cofactor fit blooms.csv --labels sail,read --out x.cofactor
    cofactor fit good.csv --model als --alpha 1 --factors 1 --out x.cofactor --user user --item item --rating rating
cofactor fit played.csv --model ease --out x.cofactor
    cofactor fit played.csv --model als --alpha 1 --factors 1 --bins 5 --out x.cofactor
cofactor predict semi.cofactor weather.csv
    cofactor predict semi.cofactor weather.csv --form table
    cofactor predict semi.cofactor weather.csv --json
cofactor predict unnamed.cofactor sky.csv
    unnamed.predict(tagged.X)
    Ridge.fit(pd.DataFrame({'wind': range(9)}), pd.DataFrame({'sail': [0, 1, 1] * 3}))
cofactor predict chance.cofactor sky.csv --scores --at-most 1
    cofactor predict chance.cofactor sky.csv --scores
    cofactor predict chance.cofactor sky.csv --at-most 1
cofactor predict vectorized.cofactor written.csv
    cofactor predict vectorized.cofactor written.csv --text body
cofactor predict tagger.cofactor weather.csv --text wind
    cofactor predict tagger.cofactor weather.csv
cofactor info mddm.cofactor
    pipeline.make_pipeline(labels.MDDM(n_components=1), labels.LabelRidge.paper()).fit(tagged.X, tagged.Y.toarray())
service_of(tagger).recommend_table(None, {})
    service_of(tagger).predict_file('weather.csv', {'drop': (), 'id': None, 'format': None, 'zero_based': None,
    ... 'sep': None, 'header': None, 'encoding': None, 'form': 'tags', 'scores': False, 'proba': False, 'top': None,
    ... 'coverage': None})
    cofactor predict --help
# Evaluations.
evaluation.compare({}, toy)
    evaluation.compare(two, toy)
evaluation.compare({'ALS': ratings.EASE}, toy, at=3)
    evaluation.compare({'EASE': ratings.EASE()}, toy, at=3)
evaluation.compare(two, toy, splits='strong')
    evaluation.compare({'ALS': ALS}, toy, splits='strong')
    evaluation.compare(two, toy, splits='weak')
evaluation.compare(two, toy, metrics=[])
    evaluation.compare(two, toy, metrics=['mae'])
    evaluation.compare(two, toy, metrics=None)
evaluation.compare(two, toy, metrics=['micro_f1'])
    evaluation.compare(two, toy, metrics=['rmse'])
evaluation.compare(two, toy, likes=4)
    evaluation.compare({'EASE': ratings.EASE()}, toy, at=3, likes=4)
evaluation.compare(two, [])
    evaluation.compare(two, toy)
evaluation.compare(two, 'good.csv')
    evaluation.compare(two, [datasets.read_ratings('good.csv')])
    evaluation.compare({'ridge': Ridge}, [datasets.load_labels('sky.csv', ['sail', 'read'])])
evaluation.compare(two, [described])
    evaluation.compare(two, toy)
evaluation.compare({'ALS': ratings.ALS(1)}, [described], grids={'ALS': {'alpha': [1.0]}})
    evaluation.compare({'ALS': ALS}, [described])
    evaluation.compare({'ALS': ratings.ALS(1)}, toy, grids={'ALS': {'alpha': [1.0]}})
evaluation.compare({'mine': Dummy(constant=odd)}, toy, store='c.sqlite')
    evaluation.compare({'mine': Dummy(constant=3.0)}, toy, store='c.sqlite')
    evaluation.compare(two, toy)
evaluation.compare({'mine': changed(Dummy(), func=lambda y: y)}, toy, store='c.sqlite')
    evaluation.compare({'mine': changed(Dummy(), func=same, inverse_func=same)}, toy, store='c.sqlite')
    evaluation.compare({'mine': changed(Dummy(), func=lambda y: y, inverse_func=lambda y: y)}, toy)
evaluation.evaluate_labels(Ridge, tagged, 5)
    evaluation.evaluate_labels(Ridge, tagged, splitter=3)
evaluation.evaluate_labels(Ridge, tagged.X)
    evaluation.evaluate_labels(Ridge, tagged.X, tagged.Y, splitter=3)
    evaluation.evaluate_labels(Ridge, tagged, splitter=3)
evaluation.evaluate(ALS, X)
    evaluation.evaluate(ALS, X, y, n_splits=2)
    evaluation.evaluate(ALS, table, n_splits=2)
evaluation.evaluate(ALS, X, np.column_stack([y, y]))
    evaluation.evaluate_labels(Ridge, tagged, splitter=3)
    model_selection.cross_validate(labels.LabelRidge.paper(), tagged.X, tagged.Y.toarray(), cv=2)
evaluation.evaluate(Dummy(), X, y, item_features=films)
    evaluation.evaluate(Dummy(), X, y)
evaluation.evaluate(ALS, table, y='weak')
    evaluation.evaluate(ALS, table, protocol='weak', n_splits=2)
evaluation.evaluate_recommendations(ease, X, y, counts=y)
    evaluation.evaluate_recommendations(ratings.EASE(), X, y)
    evaluation.evaluate_recommendations(ratings.EASE(), X, counts=y)
evaluation.evaluate_recommendations(ratings.EASE(), X, counts=y, likes=4)
    evaluation.evaluate_recommendations(ratings.EASE(), X, y=y, likes=4)
    evaluation.evaluate_recommendations(ratings.EASE(), X, counts=y)
evaluation.evaluate_recommendations(ratings.EASE(), X, y, at=[])
    evaluation.evaluate_recommendations(ratings.EASE(), X, y, at=[3])
evaluation.evaluate_recommendations({'popularity': ratings.EASE()}, X, y)
    evaluation.evaluate_recommendations({'mine': ratings.EASE()}, X, y)
evaluation.evaluate_recommendations(ratings.EASE(), X, y, item_features=films)
    evaluation.evaluate_recommendations(ratings.EASE(), X, y)
evaluation.Scores([[np.inf, 1.0]], ['a', 'b'], greater_is_better=False)
    evaluation.Scores([[np.nan, 1.0], [1.0, 2.0]], ['a', 'b'], greater_is_better=False)
evaluation.signed_rank(three)
    evaluation.signed_rank(three.only('a', 'b'))
evaluation.signed_rank(evaluation.Scores([[1.0, 2.0]], ['a', 'b'], greater_is_better=False))
    evaluation.correlated_t(folds, 0.2)
evaluation.mean_table([{'method': 'a', 'data': 'd', 'split': '1', 'seed': 0, 'metric': 'mae', 'value': v,
... 'status': 'done'} for v in (1.0, 2.0)], 'mae')
    evaluation.mean_table([{'method': m, 'data': 'd', 'split': '1', 'seed': 0, 'metric': 'mae', 'value': 1.0,
    ... 'status': 'done'} for m in 'ab'], 'mae')
# Pictures.
plots.plot_error_by_level({}, [1, 2])
    plots.plot_error_by_level({'ALS': [1.0, 2.0]}, [1, 2])
plots.plot_scaling([1, 2], {})
    plots.plot_scaling([1, 2], {'ALS': [1.0, 2.0]})
plots.plot_threshold_curves({})
    plots.plot_threshold_curves({'micro F1': ([0.1, 0.2], [0.3, 0.4])})
plots.plot_embedding([[0, 1], [1, 0]], [1, 0], [0.0], [3.5, 1])
    plots.plot_embedding([[0, 1], [1, 0]], [1, 0], [0.0], [2, 1])
plots.plot_drift(probit, 1)
    plots.plot_drift(timed, 1)
plots.plot_splits({})
    plots.plot_splits({'ALS': [1.0, 2.0]})
plots.plot_splits({'ALS': [1.0, 2.0]}, ax=3)
    plots.plot_splits({'ALS': [1.0, 2.0]}, ax=__import__('matplotlib.figure', fromlist='x').Figure().subplots())
    plots.plot_splits({'ALS': [1.0, 2.0]})
plots.plot_coverage_tradeoff(rankings)
    (s := rankings, plots.plot_coverage_tradeoff({name: (s.of_lists[name]['coverage@3'][0], s.mean(name,
    ... 'ndcg@3').mean) for name in s.methods}))
plots.plot_recommendations(['Up'], [0.1, 0.2], [0.1, 0.2])
    plots.plot_recommendations(['Up', 'Heat'], [0.1, 0.2], [0.1, 0.2])
plots.plot_coverage_tradeoff({})
    plots.plot_coverage_tradeoff({'ALS': (0.1, 0.2)})
plots.plot_trace(probit.fold_in([('me', 1), ('me', 2)], [5, 4]))
    plots.plot_trace(probit)
# A store of results.
store('titles.csv')
    store('new')
store(old_store('old.sqlite'))
    store('new')
store(stored('newer', newer=True))
    store('new')
store('.')
    store('new')
evaluation.cell(unsourced, method='mine')
    evaluation.cell(same, method='mine')
    evaluation.cell(unsourced, method='mine', version='1')
unwritable(store)
    writable(store)
    store('new')
# HTTP.
ask('GET /v1/model', concurrent=0)
    GET /v1/model
ask('GET /v1/model', models={'x': server.Served('x', Slow(als))}, answer=0.02)
    GET /v1/model
    ask('GET /v1/model', models={'x': server.Served('x', Slow(als))})
ask('POST /v1/recommendations {"users": [1' + ', 1' * 999 + ']}')
    POST /v1/recommendations {"users": [1, 1], "n": 3}
private('empty.txt', '# none yet')
    private('keys.txt', 'a-key-that-nobody-guesses')
private('short.txt', 'secret')
    printed = __import__('subprocess').check_output([sys.executable, '-c',
    ... 'import secrets; print(secrets.token_urlsafe(32))'], text=True); private('keys.txt', printed)
ask('GET /v1/model', access=local, headers={'Host': 'films.example'})
    ask('GET /v1/model', access=local, headers={'Host': 'localhost'})
    cofactor serve als.cofactor --port 0 --allowed-host films.example
    ask('GET /v1/model', access=server.Access(server.served_hosts('127.0.0.1', ['films.example'])),
    ... headers={'Host': 'films.example'})
ask('GET /v1/model', access=locked)
    ask('GET /v1/model', access=locked, headers={'Authorization': 'Bearer ' + 'k' * 20})
    ask('GET /v1/model', access=locked, headers={'X-API-Key': 'k' * 20})
ask('POST /v1/tags {"rows": [[1, 2]]}', models={'default': served})
    cofactor serve als.cofactor tags=tagger.cofactor --port 0
POST /v1/tags {"model": "tagger", "rows": [[1, 2], [1, 2], [1, 2]], "top": 40}
    POST /v1/tags {"model": "tagger", "rows": [[1, 2], [1, 2], [1, 2]], "top": 1}
    POST /v1/tags {"model": "tagger", "rows": [[1, 2]], "top": 40}
GET /v1/labels?model=als
    GET /v1/labels?model=tagger&n=5
POST /v1/tags {"model": "chance", "rows": [[1, 2]], "threshold": 0.5, "coverage": 0.9}
    POST /v1/tags {"model": "chance", "rows": [[1, 2]], "threshold": 0.5}
    POST /v1/tags {"model": "chance", "rows": [[1, 2]], "coverage": 0.9}
ask('POST /v1/tags {"model": "chance", "rows": [[4, 2], [4, 2]], "threshold": 0.0}', rows=1)
    ask('POST /v1/tags {"model": "chance", "rows": [[0, 2]], "threshold": 0.5}', rows=1)
    ask('POST /v1/tags {"model": "chance", "rows": [[0, 2], [0, 2]], "threshold": 1.0}', rows=1)
POST /v1/tags {"model": "tagger", "rows": [[1, 2], {"wind": 3}]}
    POST /v1/tags {"model": "tagger", "rows": [[1, 2]]}
    POST /v1/tags {"model": "tagger", "rows": [{"wind": 3}]}
served.service.recommend([[]], 3)
    ratings = [(1, 5)]; served.service.recommend([ratings], 3)
ask('GET /v1/users/1/recommendations', models={'tagger': server.Served('tagger', service_of(tagger))})
    cofactor serve tagger.cofactor films=als.cofactor --port 0
    GET /v1/users/1/recommendations
ask('GET /v1/model', models={'x': server.Served('x', Broken(als))}, headers={'X-Request-ID': 'mine'})
    with logged('mine'): ask('GET /v1/model', models={'x': server.Served('x', Broken(als))},
    ... headers={'X-Request-ID': 'mine'})
send(app, *['X: y'] * 200)
    send(app)
served.check_successor(server.Served('x', service_of(ease)))
    cofactor serve NAME=ease.cofactor --port 0
with touched('touched.cofactor'): [source.content() for _ in range(10000)]
    Path('touched.cofactor').rename('touched.new'); Path('touched.new').rename('touched.cofactor'); source.content()
POST /v1/explanations {"model": "tagger", "row": [1, 2], "labels": ["qqqq"]}
    GET /v1/labels?model=tagger&n=5
    POST /v1/explanations {"model": "tagger", "row": [1, 2], "labels": ["sail"]}
POST /v1/tags {"model": "tagger", "rows": [{"qqqq": 1}]}
    GET /v1/features?model=tagger&n=5
    POST /v1/tags {"model": "tagger", "rows": [{"wind": 1}]}
# A cluster.
with cluster(0) as address: command(f'predict als.cofactor pairs.csv --scheduler {address}')
    with cluster(1) as address: command(f'predict als.cofactor pairs.csv --scheduler {address}')
with cluster(1, lambda _: os.utime('recommender.cofactor', ns=(1,
... 1))) as address: command(f'predict recommender.cofactor pairs.csv --scheduler {address}')
    with cluster(1) as address: command(f'predict als.cofactor pairs.csv --scheduler {address}')
with cluster(1, kill_worker) as address: command(f'predict als.cofactor pairs.csv --scheduler {address}')
    with cluster(1) as address: command(f'predict als.cofactor pairs.csv --scheduler {address}')
with cluster(1, end_cluster) as address: command(f'predict als.cofactor pairs.csv --scheduler {address}')
    with cluster(1) as address: command(f'predict als.cofactor pairs.csv --scheduler {address}')
# An installation.
with broken_installation(os.getcwd()): command('doctor')
    command('doctor')
    installed('matplotlib', 'plots')
    installed('scikit-posthocs', 'stats')
    installed('arviz', 'bayes')
    installed('pandas', '')
    installed('polars', '')
    installed('numpy', '')
    with mock.patch.dict(os.environ, COFACTOR_CACHE='own'): assert not cache.fault()
    cofactor datasets path ml-100k
    command('datasets fetch ml-100k')
    try: command('datasets path emotions')
    ... except ValueError as said: assert 'put emotions.arff' in str(said)
    cofactor demo --help
with absent('distributed'): command('predict als.cofactor pairs.csv --scheduler tcp://127.0.0.1:1')
    installed('distributed', 'cluster')
with absent('matplotlib'): printed(lambda: demo.TerminalReporter(quiet=False).can_draw())
    installed('matplotlib', 'plots')
    printed(lambda: demo.TerminalReporter(quiet=False).can_draw())
drawn('\ue000')
    drawn('Up')
"""
