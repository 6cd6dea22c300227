"""Further cases of advice, of ratings, models, files and solvers."""

# ruff: noqa: E501

from __future__ import annotations

#: Python for names that calls use.
NAMES: dict[str, str] = {
    "model": "__import__('cofactor.model.named_splits').model",
    "metrics": "__import__('cofactor.metrics').metrics",
    "correlation": "__import__('cofactor.correlation').correlation",
    "persistence": "__import__('cofactor.persistence').persistence",
    "piped": "pipeline.make_pipeline(preprocessing.StandardScaler(), labels.LabelRidge()).fit(F, L)",
    "splits": "evaluation",
    "probit1": "ratings.OrdinalProbit(2, n_sweeps=4, burn_in=1, random_state=0, time=True)",
    "gz": "__import__('gzip').compress(Path('new.csv').read_bytes())",
    "L": "np.random.default_rng(0).integers(0, 2, (30, 3))",
    "F": "np.random.default_rng(1).normal(size=(30, 4))",
    "brief": "__import__('functools').partial(ratings.OrdinalProbit, 2, n_sweeps=4, burn_in=2, random_state=0)",
    "als_f": "ratings.OrdinalProbit(1, n_sweeps=2, burn_in=1, random_state=0)",
    "featured": "ratings.OrdinalProbit(1, n_sweeps=2, burn_in=1, random_state=0).fit(X, y, user_features=(range(30), np.arange(30.0)))",
    "timeless": "ratings.OrdinalProbit(1, n_sweeps=2, burn_in=1, random_state=0).fit(X, y)",
    "worded": "ratings.ALS(1, alpha=1.0).fit(datasets.read_ratings('words.csv', scale=['down', 'up']))",
    "tiny": "datasets.make_ratings(8, 6, 2, density=0.9, random_state=7)",
    "tiny_nmf": "__import__('functools').partial(ratings.RatingNMF, 4, loss='itakura-saito', random_state=0, max_iter=2000)",
    "S": "in_memory()",
    "files": "__import__('cofactor.files').files",
    "few_tags": "datasets.read_label_table('few-tags.csv', labels=['a'])",
    "problems": "__import__('cofactor.problems').problems",
    "samplers": "__import__('cofactor.samplers').samplers",
    "solvers": "__import__('cofactor.solvers').solvers",
    "losses": "__import__('cofactor.losses').losses",
    "penalties": "__import__('cofactor.penalties').penalties",
    "multiplicative": "__import__('cofactor.solvers.descent').solvers.descent",
    "sgd": "__import__('cofactor.solvers.sgd').solvers.sgd",
    "linear": "__import__('cofactor.solvers.linear').solvers.linear",
    "workers": "__import__('cofactor.solvers.workers').solvers.workers",
    "made": "__import__('tests.solvers.problems').solvers.problems",
    "observed": "__import__('functools').partial(made.factorization, dtype=np.float32)",
    "P": "made.factorization(losses.Squared())[0]",
    "seeded": "ratings.ALS(1, alpha=1.0, random_state=0)",
    "als1": "ratings.ALS(1, alpha=1.0)",
}

FILES: dict[str, str] = {
    "semicolons.csv": "user|item\n1|1\n2|3\n",
    "wide.csv": "user,a,b,c,d,e,f,g,h,i,j\n" + "".join(f"{u},1,2,3,4,5,1,2,3,4,5\n" for u in range(5)),
    "bare.csv": "1,1,5\n2,2,4\n",
    "odd.csv": "item,who,how\n1,1,5\n2,2,4\n",
    "other.csv": "user,item,rating\n1,1,good\n3,1,bad\n",
    "more.csv": "user,item,rating\n3,1,up\n",
    "skew.csv": "user,item,rating\n"
    + "".join(f"{u},{i},{10000 if u == i == 0 else u + i}\n" for u in range(20) for i in range(20)),
    "many.csv": "user,item,rating\n" + "".join(f"{900 + k % 7},{k % 20},{k % 3 + 1}\n" for k in range(40)),
    "words-for-users.csv": "user,item,rating,number\nann,1,5,901\nbob,2,4,902\n",
    "twice.csv": "user,item,rating\nx,1,5\ny,2,4\nx,1,4\n",
    "once.csv": "user,item,rating\nx,1,5\ny,2,4\n",
    "again.csv": "user,item,rating\neve,1,5\n",
    "ones.csv": "user,item,rating\n1,1,1\n1,2,1\n2,1,1\n2,3,1\n",
    "times.csv": "user,item,rating,timestamp\n3,1,5,1000000000\n",
    "late.csv": "user,item,rating,when\n1,1,4,1000000000\n",
    "plays.csv": "user,item,rating\n" + "".join(f"{u},{i},{15 * u + i + 1}\n" for u in range(15) for i in range(15)),
    "few-tags.csv": "f,name,a\n1,x,0\n2,y,1\n",
    "few-tags.arff": "@relation r\n@attribute f numeric\n@attribute a {0, 1}\n@data\n1, 0\n2, 1\n",
    "turned.csv": "item,user,rating\n1,1,5\n2,2,4\n",
}


#: Calls that go wrong, and below each the calls that follow what it advises.
CASES = r"""
# Ids, choices, lists.
als.fold_in([('Am\udce9lie', 1)], [5])
    als.fold_in([('Am\udce9lie'.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace'), 1)], [5])
ratings.PMF(1, alpha=1.0, solver='asl').fit(X, y)
    ratings.PMF(1, alpha=1.0, solver='als').fit(X, y)
als.recommend({1, 2})
    als.recommend([1, 2])
als.recommend({1: 2})
    als.recommend({1: 2}.keys())
    als.recommend([1])
# Columns.
datasets.read_ratings('semicolons.csv')
    datasets.read_ratings('new.csv', sep=',')
    datasets.read_ratings('new.csv', rating='rating')
datasets.read_ratings('wide.csv')
    datasets.read_ratings('wide.csv', user='user', item='a', rating='b')
    table = pd.read_csv('wide.csv'); als1.fit(table.melt(table.columns[0], var_name='item',
    ... value_name='rating').dropna())
ratings.EASE().fit(pd.read_csv('odd.csv'))
    ratings.EASE().fit(pd.read_csv('odd.csv').set_axis(['user', 'item', 'rating'], axis=1))
datasets.read_ratings('bare.csv', rating='stars')
    datasets.read_ratings('bare.csv', rating=0, user=1, item=2)
datasets.read_ratings('new.csv', user='item')
    datasets.read_ratings('new.csv', user='user')
    datasets.read_ratings('new.csv', user='item', item='user')
datasets.read_ratings('odd.csv')
    datasets.read_ratings('odd.csv', user='who', rating='how')
# Files.
Path('cut.csv').write_bytes(gz[:-9]); datasets.read_ratings('cut.csv')
    Path('cut.csv').write_bytes(gz); datasets.read_ratings('cut.csv')
import zipfile
... with zipfile.ZipFile('z.csv', 'w') as z: z.write('new.csv')
... datasets.read_ratings('z.csv')
    import zipfile; zipfile.ZipFile('z.csv').extractall('unpacked'); datasets.read_ratings('unpacked/new.csv')
Path('u.csv').write_text('user,item,rating\n1,1,5\n1,2,3\n', 'utf-16'); datasets.read_ratings('u.csv')
    datasets.read_ratings('u.csv', encoding='utf-16')
Path('l.csv').write_text('user,item,rating\nZoë,1,5\nann,2,3\n', 'latin-1'); datasets.read_ratings('l.csv')
    datasets.read_ratings('l.csv', encoding='latin-1')
datasets.read_ratings('new.csv', encoding='utf-9')
    datasets.read_ratings('new.csv', encoding='utf-8')
    datasets.read_ratings('new.csv', encoding='latin-1')
    datasets.read_ratings('new.csv', encoding='cp1252')
als.save('nowhere/als.cofactor')
    Path('somewhere').mkdir(); als.save('somewhere/als.cofactor')
als.save('old.cofactor'); reheaded('old.cofactor', format=1); cofactor.load('old.cofactor')
    als.save('old.cofactor'); cofactor.load('old.cofactor')
als1.fit(X, np.ma.masked_equal(y, 3))
    als1.fit(X[y != 3], y[y != 3])
    als1.fit(X, np.ma.masked_equal(y, 3).filled(2))
als.save('old.cofactor'); reheaded('old.cofactor', format=99); cofactor.load('old.cofactor')
    als.save('old.cofactor'); cofactor.load('old.cofactor')
# What a model file holds.
persistence.write_model('m', {'a': np.nan}, {})
    persistence.write_model('m', {}, {'a': np.array(np.nan)})
persistence.write_model('m', {'a': np.ones(2)}, {})
    persistence.write_model('m', {}, {'a': np.ones(2)})
persistence.write_model('m', {'a': als}, {})
    persistence.write_model('m', {'a': repr(als)}, {})
persistence.write_model('m', {}, {'a': np.array(['b'])})
    persistence.write_model('m', {}, {'a': np.ones(1, 'float32')})
persistence.write_model('m', {}, {'a': np.ones(99), 'b': np.ones(99)})
... with environment(COFACTOR_MAX_UNPACKED=1): persistence.read_model('m')
    persistence.write_model('m', {}, {'a': np.ones(99), 'b': np.ones(99)})
    ... with environment(COFACTOR_MAX_UNPACKED=792): persistence.read_model('m')
# Packages.
with absent('arff'): datasets.read_arff('few-tags.arff', labels=['a'])
    assert 'arff' in extras(), 'no such extra'
    datasets.read_arff('few-tags.arff', labels=['a'])
# Metrics.
tally = metrics.LabelTally(); tally.add(L, L); tally.add(L, L, F[:, :3])
    tally = metrics.LabelTally(); tally.add(L, L, F[:, :3], abs(np.tanh(F[:, :3]))); tally.add(L, L, F[:, :3],
    ... abs(np.tanh(F[:, :3])))
    tally = metrics.LabelTally(); tally.add(L, L); tally.add(L, L)
metrics.LabelTally().table()
    tally = metrics.LabelTally(); tally.add(L, L); tally.table()
metrics.interaction_calibration_bins([0.5], [1, 0])
    metrics.interaction_calibration_bins([0.5, 0.5], [1, 0])
metrics.frobenius_relative_error([0, 0], [1, 0])
    metrics.root_mean_squared_error([0, 0], [1, 0])
als1.fit(X, np.arange(len(y)) + 0.5)
    als1.fit(X, datasets.bin_ratings(np.arange(len(y)) + 0.5, 5)[0])
    ratings.ALS(1, alpha=1.0, levels=[1, 2]).fit(X, 1 + y % 2)
metrics.zero_one_error([1, 7], [1, 2], [1, 2, 3])
    metrics.zero_one_error([1, 3], [1, 2], [1, 2, 3])
    metrics.zero_one_error([1, 7], [1, 2], [1, 2, 3, 7])
metrics.hamming_loss(pd.DataFrame({'a': [1], 'b': [0]}), pd.DataFrame({'b': [1], 'a': [0]}))
    Y, predicted = pd.DataFrame({'a': [1], 'b': [0]}), pd.DataFrame({'b': [1], 'a': [0]}); metrics.hamming_loss(Y,
    ... predicted[list(Y.columns)])
metrics.user_difference([0.5], [0.5, 0.2])
    metrics.user_difference([0.5, 0.1], [0.5, 0.2])
# Correlations.
correlation.pearson(tagged)
    correlation.pearson(tagged.Y)
    correlation.pearson(tagged.X)
correlation.jaccard(2 * L - 1)
    correlation.jaccard(2 * L - 1 > 0)
correlation.likelihood_gain(np.ones((4000, 1000)), np.arange(8e5).reshape(4000, 200) % 2)
    correlation.partial_correlation(F, L)
    correlation.mutual_information(L)
    correlation.likelihood_gain(F, L, pairs=[(0, 1)])
# Fits that end too early.
ratings.MMMF(2, 1.0, random_state=0).fit(X, y).set_params(max_iter=1).fold_in([('me', 1), ('me', 2)], [5, 4])
    ratings.MMMF(2, 1.0, random_state=0).fit(X, y).set_params(max_iter=1000).fold_in([('me', 1), ('me', 2)], [5, 4])
ratings.PMF(1, alpha=1.0, solver='lbfgs', random_state=0).fit(X, np.where(y > 3, 1e13, 1))
    ratings.PMF(1, alpha=1.0, solver='lbfgs', random_state=0).fit(X, np.where(y > 3, 5, 1))
    ratings.PMF(1, alpha=1e6, solver='lbfgs', random_state=0).fit(X, np.where(y > 3, 1e13, 1))
ratings.PMF(1, alpha=1.0, random_state=0).fit(X, np.where(y > 3, 1e25, 1))
    ratings.PMF(1, alpha=1.0, random_state=0).fit(X, np.where(y > 3, 5, 1))
labels.OMF(threshold=9.0).fit(F, L)
    labels.OMF(threshold='global').fit(F, L)
# Splits.
[*splits.StratifiedLabelKFold().split(F)]
    [*splits.StratifiedLabelKFold().split(F, L)]
[*splits.StratifiedLabelKFold().split(F, L[:, 0])]
    [*splits.StratifiedLabelKFold().split(F, L[:, 0].reshape(-1, 1))]
    [*model_selection.StratifiedKFold().split(F, L[:, 0])]
[*splits.StratifiedLabelKFold(order=2).split(np.ones(5), sp.csr_array(np.ones((5, 4500), 'int8')))]
    [*splits.StratifiedLabelKFold(order=1).split(F, L)]
[*splits.GroupedLabelKFold(2).split(F, L)]
    [*splits.GroupedLabelKFold(2, groups=range(30)).split(F, L)]
    [*splits.GroupedLabelKFold(2).split(F, L, range(30))]
[*splits.StratifiedLabelKFold(31).split(F, L)]
    [*splits.StratifiedLabelKFold(30).split(F, L)]
evaluation.splitter_of('official', 'labels')
    evaluation.splitter_of(protocol='kfold', task='labels', n_rows=30)
    evaluation.splitter_of(protocol='holdout', task='labels', n_rows=30)
evaluation.splitter_of('grouped', 'labels')
    evaluation.splitter_of('grouped', 'labels', groups=range(30))
evaluation.evaluate(als1, X, y, protocol='time')
    evaluation.evaluate(als1, X, y, time=t, protocol='time')
    evaluation.evaluate(als1, X, y, protocol='holdout')
[*splits.NewUsers(10).split([('a', 1), ('a', 2), ('b', 1)] + [(k, 1) for k in 'cdefghijklm'])]
    [*splits.NewUsers(1).split([('a', 1), ('a', 2), ('b', 1)])]
[*splits.TimeSplit(3, times=[1, 1, 1, 2]).split(range(4))]
    [*splits.TimeSplit(1, times=[1, 1, 2, 2]).split(range(4))]
[*splits.TimeSplit(3).split(range(3))]
    [*splits.TimeSplit(2).split(range(3))]
[*splits.TimeSplit(at=9, times=[1, 2, 3]).split(range(3))]
    [*splits.TimeSplit(at=2, times=[1, 2, 3]).split(range(3))]
[*splits.UserLast().split(X)]
    [*splits.UserLast(times=t).split(X)]
    [*splits.UserLast().split(np.column_stack([X, t]))]
X = np.column_stack([X, y]); [*splits.TimeSplit().split(X)]
    X = np.column_stack([X, y]); [*splits.TimeSplit(times=X[:, 2]).split(X)]
    X = np.column_stack([X, y]); [*splits.TimeSplit(times=range(len(X))).split(X)]
# Parameters, and choices of them.
labels.BinaryRelevance().set_params(estimator__C=3)
    labels.BinaryRelevance(svm.LinearSVC()).set_params(estimator__C=3)
cofactor.save(piped.set_params(standardscaler=preprocessing.StandardScaler()), 'p.cofactor')
    cofactor.save(piped.set_params(standardscaler=preprocessing.StandardScaler().fit(F)), 'p.cofactor')
cofactor.save(piped.set_params(memory='cache'), 'p.cofactor')
    cofactor.save(piped.set_params(memory=None, transform_input=None), 'p.cofactor')
evaluation.select_parameters(labels.LabelRidge(), F, L, {'alpha': [1]}, metric='log_loss')
    evaluation.select_parameters(labels.LabelRidge(), F, L, {'alpha': [1]}, metric='log_loss', thresholds=None)
evaluation.select_parameters(als1, X, None)
    evaluation.select_parameters(ratings.EASE(), X, None, {'alpha': [1.0]}, metric='ndcg@10')
    evaluation.select_parameters(als1, X, y, {'alpha': [1]})
    evaluation.select_parameters(labels.LabelRidge(), F, L, {'alpha': [1]})
evaluation.select_parameters(linear_model.Ridge(), X, y, {'alpha': [1]}, metric='ndcg@10')
    evaluation.select_parameters(ratings.ALS(1, random_state=0), X, y, {'alpha': [1.0]}, metric='ndcg@10')
evaluation.ranking_scorer('ndcg')
    evaluation.ranking_scorer(metric='ndcg@10')
ease.ranking_score([(999, 1)])
    model_selection.cross_validate(ratings.EASE(), X, cv=evaluation.PerUserHoldout(), error_score='raise')
    ease.fold_in([(999, 2)]).ranking_score([(999, 1)])
evaluation.select_parameters(linear_model.RidgeClassifier(), F, L)
    evaluation.select_parameters(linear_model.RidgeClassifier(), F, L, grid={'alpha': [1, 10]})
ratings.ALS(1).fit([('a', 1), ('b', 2)], [1, 2])
    ratings.ALS(1, alpha=1.0).fit([('a', 1), ('b', 2)], [1, 2])
# Times.
timed.predict([(1, 1)], time='2020-01-01')
    timed.predict([(1, 1)], time=[pd.to_datetime('2020-01-01')])
    timed.predict([(1, 1)], time=1e9)
probit1.fit(X, y, time=np.where(y > 1, t, np.nan))
    probit1.fit(X[y > 1], y[y > 1], time=t[y > 1])
timed.predict([(1, 1)], time=np.inf)
    timed.predict([(1, 1)], time=1e9)
probit1.fit(X, y, time=t.astype('float32'))
    probit1.fit(X, y, time=t.astype('float64'))
timed.predict([(1, 1), (1, 2)], time=[1e9, pd.Timestamp(2020, 1, 1)])
    timed.predict([(1, 1), (1, 2)], time=[1e9, 2e9])
timed.predict([(1, 1), (1, 2)], time=[pd.Timestamp(2020, 1, 1), pd.Timestamp(2020, 1, 1, tz='UTC')])
    import datetime; timed.predict([(1, 1), (1, 2)], time=[pd.Timestamp(2020, 1, 1).replace(tzinfo=datetime.UTC),
    ... pd.Timestamp(2020, 1, 1, tz='UTC')])
probit1.fit(X, y, time=t * 1000)
    probit1.fit(X, y, time=t * 1000 / 1000)
# Ratings and interactions.
als1.fit(np.column_stack([X, y + 1e9]), y + 1e9)
    als1.fit(np.column_stack([X, y + 1e9])[:, :2], y + 1e9)
ratings.as_ratings(ratings.as_ratings(X, y), scale=[1, 2])
    ratings.as_ratings(X, 1 + y % 2, scale=[1, 2])
ratings.Ensemble(ratings.ALS(1, alpha=1.0, levels=[1, 2, 3, 4, 5])).fit(X, y)
    ratings.Ensemble(ratings.ALS(1, alpha=1.0), 2, levels=[1, 2, 3, 4, 5]).fit(X, y)
als1.fit(datasets.read_interactions('pairs.csv'))
    ratings.Recommender(ratings.EASE(), None).fit(X)
    ratings.EASE().fit(X)
    ratings.ImplicitALS(1).fit(X)
ratings.as_ratings(pd.DataFrame({'user': [1, 2], 'user_name': ['a', 'b'], 'rating': [1, 2]}))
    ratings.as_ratings(pd.DataFrame({'user': [1, 2], 'item': ['a', 'b'], 'rating': [1, 2]}))
als.fold_in([('me', 1)], pd.Categorical(['up'], ['down', 'up'], ordered=True))
    als.fold_in([('me', 1)], [2])
ratings.ALS(1, alpha=1.0, random_state=0).fit(X, 1 + (y > 2)).fold_in([('me', 1)], pd.Categorical(['up'], ['down',
... 'up'], ordered=True))
    ratings.ALS(1, alpha=1.0, random_state=0).fit(X, 1 + (y > 2)).fold_in([('me', 1)], [2])
worded.update(datasets.read_ratings('other.csv', scale=['bad', 'good']))
    worded.update(datasets.read_ratings('more.csv', scale=worded.rating_scale_))
als1.fit(datasets.read_ratings('skew.csv', bins=5, bin_by='width'))
    als1.fit(datasets.read_ratings('skew.csv', bins=5, bin_by='quantile'))
als1.fit(X.T, y)
    als1.fit(X.T.T, y)
als.fold_in(ratings.as_ratings([('me', 1)], [5], scale=als.scale_))
    als.fold_in(ratings.as_ratings([('me', 1)], [5], scale=als.scale_, items=als.items_))
probit1.fit(ratings.as_ratings(X, y), time=t)
    probit1.fit(ratings.as_ratings(X, y, times=t))
    probit1.fit(ratings.Ratings.from_pairs(X, y, times=t))
# Explanations.
bare.explain(1, [2])
    als.save('with.cofactor', ratings=True)
    cofactor.load('with.cofactor').explain(1, [2])
featured.fold_in(user_features={99: [1.0]}).explain(99, [2])
    featured.fold_in([(99, 1)], [5], user_features={99: [1.0]}).explain(99, [1])
# Models and their parameters.
ratings.MMMF(1, 1.0, margin='hinge').fit(X, y)
    ratings.MMMF(1, 1.0, margin='smooth-hinge').fit(X, y)
    ratings.MMMF(1, 1.0, margin='modified-square').fit(X, y)
    ratings.MMMF(1, 1.0, margin='logistic').fit(X, y)
ratings.RatingNMF(1, alpha=1.0, loss='kl', solver='hals').fit(X, y)
    ratings.RatingNMF(1, alpha=1.0, loss='kl', solver='multiplicative').fit(X, y)
    ratings.RatingNMF(1, alpha=1.0, loss='squared', solver='hals').fit(X, y)
ratings.RatingNMF(1, alpha=1.0, origin=2).fit(X, y)
    ratings.RatingNMF(1, alpha=1.0, origin=1).fit(X, y)
tiny_nmf(alpha=1e-9).fit(tiny.X, tiny.y).fold_in([('me', i) for i in range(6)], [5, 1, 4, 1, 2, 3])
    tiny_nmf(alpha=1.0).fit(tiny.X, tiny.y).fold_in([('me', i) for i in range(6)], [5, 1, 4, 1, 2, 3])
ratings.PMF(1, alpha=1.0, link='logistic').fit(X, y)
    ratings.PMF(1, alpha=1.0, link='logistic', solver='lbfgs').fit(X, y)
    ratings.PMF(1, alpha=1.0, link='logistic', solver='sgd').fit(X, y)
cofactor update als.cofactor many.csv --out due.cofactor
    cofactor fit many.csv --model als --alpha 5 --factors 1 --out due.cofactor
# Features.
als_f.fit(X, y, user_features=([1, 1], [2.0, 3.0]))
    als_f.fit(X, y, user_features=([1, 2], [2.0, 3.0]))
als_f.fit(X, y, user_features=([1, 2], sp.csr_array(np.eye(2))))
    als_f.fit(X, y, user_features=([1, 2], sp.csr_array(np.eye(2)).toarray()))
als_f.fit(X, y, user_features=([1, 2], {'age': ['old', 3]}))
    als_f.fit(X, y, user_features=([1, 2], {'age': ['old', '3']}))
als_f.fit(X, y, user_features=([1, 2], {'age': [3.0, np.inf]}))
    als_f.fit(X, y, user_features=([1, 2], {'age': [3.0, 4.0]}))
    als_f.fit(X, y, user_features=([1, 3], {'age': [3.0, 4.0]}))
featured.fold_in([(99, 1)], [5], user_features=pd.DataFrame({'user': [99], 'size': [3.0]}))
    featured.fold_in([(99, 1)], [5], user_features=([99], [[3.0]]))
als_f.fit([*map(tuple, X), *((k, 1) for k in range(100, 1200))], [*y, *[3] * 1100], user_features=(range(1200),
... {'name': [f'n{k}' for k in range(1200)]}))
    als_f.fit(X, y, user_features=(range(30), {'age': range(30)}))
    als_f.fit(X, y, user_features=(range(30), {'name': ['a', 'b', 'other'] * 10}))
# New users, items and ratings.
probit.fold_in_items([(99, 'new')], [5])
    probit.fold_in_items([(1, 'new')], [5])
folded.fold_in([('you', 1)], [5], known='merge')
    als.fold_in([(1, 1)], [5], known='merge')
featured.fold_in(user_features={1: [1.0]})
    featured.fold_in(user_features={99: [1.0]})
timeless.update([('you', 1)], [5], time=[1e9])
    timeless.update([('you', 1)], [5])
    brief().fit(X, y, time=t).update([('you', 1)], [5], time=[1e9])
timeless.fold_in([(1, 1)], [5], known='merge', time=[1e9])
    timeless.fold_in([(1, 1)], [5], known='merge')
small.update(M)
    small.update([('ann', 'Cars')], [1])
timed.update([('you', 1)], [5])
    timed.update([('you', 1)], [5], time=[1e9])
bare.update([('you', 1)], [5])
    als.save('with.cofactor', ratings=True)
featured.update([('you', 1)], [5])
    featured.update([('you', 1)], [5], user_features={'you': [1.0]})
als1.fit(pd.read_csv('odd.csv'))
    als1.fit(pd.read_csv('odd.csv').set_axis(['item', 'user', 'rating'], axis=1))
    als1.fit(pd.read_csv('odd.csv')[['who', 'item']].to_numpy(), pd.read_csv('odd.csv')['how'])
als1.fit(table.assign(time=np.where(y > 1, t, np.nan)))
    als1.fit(table.assign(time=np.where(y > 1, t, np.nan))[y > 1])
small.predict([(1, 2)])
    small.predict([('ann', 'Up')])
als.fold_in([('1', 1)], [5])
    als.fold_in([('one', 1)], [5])
als.fold_in(sp.csr_array(M[:, :3]))
    als.fold_in(M[:2])
small.fold_in(sp.csr_array(np.eye(3)))
    small.fold_in([('me', 'Up')], [2])
als.predict(pd.DataFrame({'user': [1], 'item': [1], 'rating': [1], 'more': [1]}))
    als.predict(pd.DataFrame({'user': [1], 'item': [1]}))
    timed.predict(pd.DataFrame({'user': [1], 'item': [1], 'time': [1e9]}))
# Models of interactions.
ratings.Recommender(ratings.EASE(), ratings.OrdinalProbit(1, n_sweeps=2, burn_in=1),
... callback=lambda _: True).fit(X, y)
    ratings.Recommender(ratings.EASE(), ratings.OrdinalProbit(1, n_sweeps=2, burn_in=1),
    ... callback=lambda _: False).fit(X, y)
    ratings.Recommender(ratings.EASE(), ratings=None, callback=lambda _: True).fit(X)
ratings.EASE(1e-30).fit([(u, i) for u in range(9) for i in range(9) if u != 5])
    ratings.EASE(alpha=1.0).fit([(u, i) for u in range(9) for i in range(9)])
ratings.EASE().fit([(0, i) for i in range(40)] + [(u, i) for u in range(1, 10) for i in (u, u + 1)])
    ratings.EASE().fit([(u, i) for u in range(1, 10) for i in (u, u + 1)])
ratings.ImplicitALS(1, alpha=1e9).fit(X)
    ratings.ImplicitALS(1, unobserved=0.1).fit(X)
    ratings.ImplicitALS(1).fit(X, sample_weight=y)
ratings.EASE().fit(pd.DataFrame({'user': [1, 2], 'item': [1, 2], 'time': [1e9, 1e9]}), time=[1e9, 1e9])
    ratings.EASE().fit(pd.DataFrame({'user': [1, 2], 'item': [1, 2], 'time': [1e9, 1e9]}))
ratings.EASE().fit(pd.DataFrame({'user': [1, 2], 'item': [1, 2], 'spent': [5, 6]}))
    ratings.EASE().fit(pd.DataFrame({'user': [1, 2], 'item': [1, 2], 'count': [5, 6]}))
evaluation.evaluate_recommendations(ratings.EASE(), M, n_splits=1)
    m = M.tocoo(); evaluation.evaluate_recommendations(recommender, np.column_stack((m.row, m.col)), m.data,
    ... n_splits=1)
    m = M.tocoo(); evaluation.evaluate_recommendations(ratings.EASE(), np.column_stack((m.row, m.col)),
    ... counts=m.data, n_splits=1)
# Sampled models.
brief(burn_in=3, callback=lambda _: True).fit(X, y)
    brief(burn_in=3, callback=lambda _: False).fit(X, y)
    brief(callback=lambda _: False).fit(X, y).set_params(warm_start=True).fit(X, y)
brief(burn_in=2, max_seconds=1e-9).fit(X, y)
    brief(burn_in=2, max_seconds=100).fit(X, y)
    brief(n_sweeps=8).fit(X, y)
    brief().fit(X, y).set_params(warm_start=True).fit(X, y)
timed.fit(X, y, time=t, shadow=([(99, 1)], [5]))
    timed.fold_in([(99, 1)], [5], time=[1e9])
probit.fold_in_items([(1, 'new')], [5]).fold_in([('me', 'new')], [5])
    probit.fold_in([('me', 1)], [5])
    brief(implicit=None).fit(X, y).fold_in_items([(1, 'new')], [5]).fold_in([('me', 'new')], [5])
brief().fit(X, y, shadow=([(1, 1)], [5]))
    brief().fit(X, y, shadow=([(99, 1)], [5]))
probit.fold_in([('me', 1)], [5]).set_params(warm_start=True).fit(X, y)
    brief().fit(X, y).set_params(warm_start=True).fit(X, y)
brief().fit(X, y).set_params(warm_start=True).fit(X[:50], y[:50])
    brief().fit(X, y).set_params(warm_start=True).fit(X, y)
    brief().fit(X[:50], y[:50])
# Folders of shards.
shards('s'); Path('s/shards/0001/levels.npy').unlink(); ratings.ShardedRatings.open('s')
    shards('s')
shards('s'); linked('s/shards/0001/levels.npy'); ratings.ShardedRatings.open('s')
    shards('s'); linked('s/shards/0001/levels.npy', back=True); ratings.ShardedRatings.open('s')
    shards('s')
shards('s'); linked('s/shards/0001'); ratings.ShardedRatings.open('s')
    shards('s'); linked('s/shards/0001', back=True); ratings.ShardedRatings.open('s')
    shards('s')
shards('s'); Path('s/manifest.json').write_text(Path('s/manifest.json').read_text().replace('0001',
... '0002')); ratings.ShardedRatings.open('s')
    shards('s'); was = Path('s/manifest.json').read_text(); Path('s/manifest.json').write_text(was.replace('0001',
    ... '0002')); Path('s/manifest.json').write_text(was); ratings.ShardedRatings.open('s')
    shards('s')
ratings.ShardedRatings.open('nowhere')
    cofactor shard many.csv --out made
    in_memory().save('made-too')
    ratings.ShardedRatings.open('made-too')
shards('s'); in_memory().save('s')
    shards('s'); __import__('shutil').rmtree('s'); in_memory().save('s')
    shards('s'); __import__('shutil').rmtree('other', ignore_errors=True); in_memory().save('other')
    cofactor shard many.csv --into s
in_memory().save('.')
    __import__('shutil').rmtree('other', ignore_errors=True); in_memory().save('other')
in_memory().save('missing/s')
    Path('missing').mkdir(); in_memory().save('missing/s')
shards('s')
... with files.lock_folder('s'): ratings.append_files('many.csv', 's')
    shards('s')
    ... with files.lock_folder('s'): pass
    ... ratings.append_files('many.csv', 's')
shards('s'); lock = files.Lock('s/items/0000/ids.safetensors', shared=False); ratings.ShardedRatings.open('s')
    shards('s'); lock = files.Lock('s/items/0000/ids.safetensors',
    ... shared=False); lock.release(); ratings.ShardedRatings.open('s')
shards('s')
... with absent('fcntl'): S = ratings.ShardedRatings.open('s'); ratings.append_files('many.csv', 's'); S.to_ratings()
    shards('s')
    ... with absent('fcntl'): ratings.append_files('many.csv',
    ... 's'); S = ratings.ShardedRatings.open('s'); S.to_ratings()
# Fits of shards.
als1.fit(S, y)
    als1.fit(S)
als1.fit(shards('s').on(resume=True))
    shards('s'); ratings.ALS(1, alpha=1.0, random_state=0).fit(ratings.ShardedRatings.open('s').on(resume=True))
ratings.URP(2, random_state=0).fit(S)
    ratings.ALS(1, alpha=1.0, random_state=0).fit(S)
    ratings.PMF(1, alpha=1.0, random_state=0).fit(S)
    ratings.MMMF(1, alpha=1.0, random_state=0).fit(S)
    ratings.PMMMF(1, alpha=1.0, random_state=0).fit(S)
    ratings.HMF(1, alpha=1.0, random_state=0).fit(S)
    ratings.BinaryMMMF(1, alpha=1.0, random_state=0).fit(in_memory(1 + (y > 3)))
    ratings.OrdinalProbit(1, n_sweeps=2, burn_in=1, random_state=0).fit(S)
    ratings.BPMF(1, n_sweeps=2, burn_in=1, random_state=0).fit(S)
    ratings.GibbsMMMF(1, n_sweeps=2, burn_in=1, random_state=0).fit(S)
    ratings.URP(2, random_state=0).fit(S.to_ratings())
ratings.ALS(1, alpha=1.0, random_state=0).fit(S).explain(1, [2])
    ratings.ALS(1, alpha=1.0, random_state=0).fit(S).to_memory().explain(1, [2])
in_memory().on(resume=True)
    shards('s'); ratings.ShardedRatings.open('s').on(resume=True)
brief(burn_in=3, max_seconds=1e-9).fit(shards('s').on(users='folder'))
    brief(burn_in=3, max_seconds=100).fit(shards('s').on(users='folder'))
    brief(burn_in=3, n_sweeps=6).fit(shards('s').on(users='folder'))
brief(warm_start=True).fit(S)
    brief(warm_start=False).fit(shards('s').on(resume=True))
    brief(warm_start=True).fit(S.to_ratings())
brief(time=True).fit(in_memory(times=t))
    brief().fit(in_memory(times=t))
brief(implicit='sparse').fit(S)
    brief(implicit='low-rank').fit(S)
brief().fit(shards('s').on(users='folder')).set_params(warm_start=True).fit(X, y)
    brief().fit(shards('s').on(users='memory')).set_params(warm_start=True).fit(X, y)
lost('ratings').recommend([1])
    lost('ratings', back='there').recommend([1])
    lost('ratings', back='relative').recommend([1])
    lost('ratings').recommend([1], exclude_seen=False)
    als.recommend([1])
lost('users')
    lost('users', back='there').predict([(1, 1)])
    lost('users', back='relative').predict([(1, 1)])
    als.predict([(1, 1)])
# Shards of files.
shards('s'); ratings.append_files('words-for-users.csv', 's')
    shards('s'); ratings.append_files('words-for-users.csv', 's', user='number')
worded_shards('s'); ratings.append_files('twice.csv', 's')
    worded_shards('s'); ratings.append_files('once.csv', 's')
    worded_shards('s'); ratings.append_files('twice.csv', 's', duplicates='last')
    worded_shards('s'); ratings.append_files('twice.csv', 's', duplicates='mean')
worded_shards('s'); ratings.append_files('again.csv', 's')
    worded_shards('s'); ratings.append_files('once.csv', 's')
    worded_shards('s'); ratings.append_files('again.csv', 's', duplicates='last')
    worded_shards('s'); ratings.append_files('again.csv', 's', duplicates='mean')
ratings.shard_files('ones.csv', 'ones')
    cofactor fit ones.csv --implicit --out ones.cofactor
    ratings.Recommender(ratings.EASE(), None, random_state=0).fit(datasets.read_interactions('ones.csv'))
    ratings.shard_files(['ones.csv', 'many.csv'], 'ones')
ratings.shard_files('twice.csv', 'two')
    ratings.shard_files('many.csv', 'two', restart=True)
    ratings.shard_files('twice.csv', 'two-last', duplicates='last')
    ratings.shard_files('twice.csv', 'two-mean', duplicates='mean')
half_sharded('half'); Path('half/.sharding/journal.json').write_text('{}'); ratings.shard_files('many.csv', 'half')
    ratings.shard_files('many.csv', 'half', restart=True)
half_sharded('third'); ratings.shard_files('many.csv', 'third', sep=',')
    ratings.shard_files('many.csv', 'third')
    half_sharded('fourth'); ratings.shard_files('many.csv', 'fourth', sep=',', restart=True)
ratings.shard_files(['known.csv', 'times.csv'], 'times')
    ratings.shard_files(['late.csv', 'times.csv'], 'times', timestamp=3)
    ratings.shard_files(['known.csv', 'many.csv'], 'no-times')
ratings.shard_files('plays.csv', 'plays')
    cofactor fit plays.csv --count rating --out plays.cofactor
    datasets.bin_ratings(range(225), 5)
# Problems, samplers and solvers.
datasets.read_label_table('few-tags.csv', schema=few_tags.schema, drop=['f'])
    datasets.read_label_table('few-tags.csv', schema=few_tags.schema, drop=[])
problems.ObservedProblem(P.entries, P.targets, P.loss, {'U': (25, 3)}, {})
    problems.ObservedProblem(P.entries, P.targets, P.loss, {'U': (25, 3), 'V': (20, 3)}, {})
    problems.ObservedProblem(P.entries, P.targets, P.loss, {'U': (25, 3)}, {}, fixed={'V': np.ones((20, 3))})
    problems.ObservedProblem(P.entries, P.targets, P.loss, {'U': (25, 0), 'V': (20, 0), 'c': (20,)}, {})
M2 = sp.csr_array(M); brief(warm_start=True).fit(M2).fit(sp.csr_array((M2.data, M2.indices, M2.indptr), shape=(30,
... 40)))
    brief(warm_start=True).fit(M).fit(M)
    brief().fit(sp.csr_array((M.data, M.indices, M.indptr), shape=(30, 40)))
samplers.run(Drift(1e20, 3), samplers.Chain(0, 0), 2)
    samplers.run(Drift(1.0, 3), samplers.Chain(0, 0), 2)
    samplers.run(Drift(1e20, 1), samplers.Chain(0, 0), 2)
S = shards('s')
... with small_files(2000): brief(n_sweeps=14).fit(S.on(users='folder'))
    brief(n_sweeps=14).fit(ratings.ShardedRatings.open('s').on(users='folder', resume=True))
solvers.alternating_least_squares(*made.quadratic())
    solvers.SOLVERS['lbfgs'](*made.quadratic())
solvers.proximal_gradient(*observed(losses.Hinge()))
    solvers.lbfgs(*observed(losses.SmoothHinge()), max_iter=1)
    solvers.lbfgs(*observed(losses.ModifiedSquare()), max_iter=1)
    solvers.lbfgs(*observed(losses.Logistic()), max_iter=1)
    solvers.proximal_gradient(*observed(losses.SmoothHinge()), max_iter=1)
    solvers.proximal_gradient(*observed(losses.ModifiedSquare()), max_iter=1)
    solvers.proximal_gradient(*observed(losses.Logistic()), max_iter=1)
multiplicative.repeat_updates(*made.quadratic())
    solvers.SOLVERS['lbfgs'](*made.quadratic())
    solvers.SOLVERS['apg'](*made.quadratic())
sgd.stochastic_gradient(*made.quadratic())
    solvers.SOLVERS['lbfgs'](*made.quadratic())
solvers.lbfgs(*observed(losses.Squared(), penalty=penalties.L1(1.0)))
    solver = 'apg'; solvers.SOLVERS[solver](*observed(losses.Squared(), penalty=penalties.L1(1.0)), max_iter=1)
    solvers.lbfgs(*observed(losses.Logistic()), max_iter=1)
linear.solve_positive(lambda x: [[1], [100]] * x, np.ones((2, 1)), max_iter=1)
    linear.solve_positive(lambda x: [[1], [100]] * x + 1e20 * x, np.ones((2, 1)), max_iter=1)
    linear.solve_positive(lambda x: [[1], [1]] * x, np.ones((2, 1)), max_iter=1)
# Workers.
seeded.fit(shards('s').on(Client(status='closed')))
    seeded.fit(ratings.ShardedRatings.open('s').on(resume=True))
seeded.fit(shards('s').on(Client(ImportError('no module'))))
    with one_worker() as client: workers.DaskExecutor(client, Part, 2).total({})
with one_worker() as client: workers.DaskExecutor(client, dying, 2).total({})
    seeded.fit(shards('s').on(resume=True))
parts = workers.DaskExecutor(Client(), Part, 2); parts.patience = 0; parts.total({})
    seeded.fit(shards('s').on(resume=True))
"""
