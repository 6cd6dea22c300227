"""Calls about data sets and models of labels that go wrong, and the calls that follow the advice."""

# ruff: noqa: E501

from __future__ import annotations

#: Python for names that calls use.
NAMES: dict[str, str] = {
    "sqlite": "__import__('sqlite3')",
    "database": "(lambda c: (c.executescript('create table r (user, item, rating); insert into r values (1, 1, 5), (2, 2, 4), (1, 2, 3), (3, 1, 4); create table gaps as select * from r; insert into gaps values (null, 1, 1); create table odd as select * from r; insert into odd values (\\'ann\\', 1, 1); create table bytes as select * from r; update bytes set user = cast(user as blob)'), c.close()))(sqlite.connect('shop.db')) and 'sqlite:///shop.db'",
    "query_of": "lambda query: datasets.read_ratings(datasets.open_data(database, query))",
    "features": "np.random.default_rng(0).random((40, 5))",
    "tags": "(features[:, :4] > 0.5).astype(int)",
    "gappy": "np.where(np.random.default_rng(1).random(tags.shape) < 0.1, np.nan, tags)",
    "ridge_frame": "labels.LabelRidge().fit(features, pd.DataFrame(tags, columns=list('abcd')))",
    "bayes": "naive_bayes.MultinomialNB()",
    "wide": "sp.csr_array(np.eye(3, 20_001))",
    "nearly": "(np.outer(range(1, 41), range(1, 6)) + features) / 100",
    "lda": "__import__('sklearn.discriminant_analysis').discriminant_analysis.LinearDiscriminantAnalysis()",
    "savemat": "__import__('scipy.io').io.savemat",
    "text_file": "lambda text, name='text.csv': (Path(name).write_bytes(text.encode()), name)[1]",
    "cut": "lambda name, part=slice(100): (Path('cut-' + name).write_bytes(Path(name).read_bytes()[part]), 'cut-' + name)[1]",
    "arff_file": "lambda attributes, rows, relation='r', name='tags.arff': text_file(f'@relation {relation}\\n' + ''.join(f'@attribute {one}\\n' for one in attributes) + '@data\\n' + rows, name)",
    "parquet_file": "lambda columns, name='table.parquet': (pd.DataFrame(columns).to_parquet(name), name)[1]",
    "typed": "lambda text: setattr(__import__('sys'), 'stdin', __import__('io').TextIOWrapper(__import__('io').BytesIO(text.encode())))",
    "words": "pd.DataFrame({'note': [f'word {i}' for i in range(60)], 'age': range(60), 'tag': [0, 1] * 30})",
    "toned": "pd.DataFrame({'tone': ['low', 'high', 'low', 'mid'], 'age': [1, 2, 3, 4], 'tag': [0, 1, 1, 0]})",
    "tags_model": "labels.LabelRidge(threshold=0.5).fit(datasets.read_label_table(toned, ['tag']))",
    "lists": "datasets.write_chunks('lists.parquet', [(sp.csr_array(np.eye(3)), np.eye(3)[:, :2])])",
    "libsvm": "datasets.write_chunks('tags.txt', [(np.eye(3), np.eye(3)[:, :2])])",
    "matrices": "savemat('tags.mat', {'X': np.eye(3), 'Y': np.eye(3)[:, :2]})",
    "rcv1": "savemat('rcv1-sample1.mat', {'X': np.eye(6000, 9), 'Y': np.eye(6000, 9)}), text_file('{\"rcv1subset1\": {\"header\": 3, \"rows_0_2999\": 2, \"rows_3000_5999\": 3}}', 'label_offsets.json'), arff_file(['a numeric', 'b numeric', 'c numeric', 'd {0, 1}', 'e {0, 1}'], '{0 1}\\n' * 6000, name='rcv1subset1.arff')",
    "known_sets": "[text_file('1\\t1\\t5\\t1\\n1\\t2\\t4\\t2\\n2\\t1\\t1\\t3\\n', 'u.data'), text_file('1|Up (1999)|01-Jan-1999||u' + '|0' * 19 + '\\n2|Heat (1995)|01-Jan-1995||u' + '|1' * 19 + '\\n', 'u.item'), text_file('1|20|M|other|1\\n2|30|features|other|1\\n', 'u.user'), savemat('plant.mat', {'X': np.eye(978), 'Y': np.eye(978)[:, :12]})]",
}

FILES: dict[str, str] = {
    "stars.csv": "user,item,rating\n" + "".join(f"{u},{i},{5 - (u * i) % 4}\n" for u in range(6) for i in range(6)),
    "texts.csv": "note,age,tag\n" + "".join(f"word {i},{i % 7},{i % 2}\n" for i in range(60)),
    "toned.csv": "tone,age,tag,loud\n"
    + "".join(f"{['low', 'high', 'mid'][i % 3]},{i % 7},{i % 2},{i // 2 % 2}\n" for i in range(60)),
    "aged.csv": "age,tag\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(60)),
    "gaps.csv": "age,tag\n" + "".join(f"{i % 7},{i % 2 if i else ''}\n" for i in range(60)),
    "tagged.csv": "age,tags\n" + "".join(f"{i % 7},{['a;b', 'a;c', 'b', 'c;a'][i % 4]}\n" for i in range(60)),
    "zeros.csv": "user,item,rating\n"
    + "".join(f"{u},{i},{0 if (u + i) % 3 else 4 + u * i % 4}\n" for u in range(9) for i in range(9)),
    "liked.csv": "user,item,liked\n" + "".join(f"{u},{i},{5 - (u * i) % 4}\n" for u in range(6) for i in range(6)),
    "labels.arff": "@relation r\n@attribute x numeric\n@attribute tag {0,1}\n@data\n"
    + "".join(f"{i % 7},{i % 2}\n" for i in range(60)),
    "tickets.csv": "id,body,tags\n" + "".join(f"{i},printer {i} is broken,it|urgent|floor {i}\n" for i in range(30)),
    "posts.csv": "id,title,views,text,tags\n"
    + "".join(
        f"{i},post {i},{i % 7 + 1},{['fish', 'boat'][i % 2]} text,{['a|b', 'a|c', 'b', 'c|a'][i % 4]}\n"
        for i in range(60)
    ),
    "commas.csv": 'x,"a,b",tag\n' + "".join(f"{i % 2},word {i},{i % 2}\n" for i in range(20)),
}

#: Calls that go wrong, and below each the calls that follow what it advises.
CASES = r"""
# Databases.
datasets.read_ratings(database)
    datasets.read_ratings(database + '#r')
    datasets.open_data(database, query='r')
datasets.read_ratings(database + '#nothing')
    datasets.read_ratings(database + '#r')
datasets.read_ratings('sqlite://shop.db#r')
    datasets.read_ratings(database + '#r')
database, append_while_another_writes()
    datasets.write_table(database + '?if_exists=append#r', {'user': [1], 'item': [7], 'rating': [5]})
datasets.read_ratings('mysql://localhost/shop#r')
    datasets.read_ratings(database + '#r')
datasets.write_table(database + '?ifexists=append#r', {'user': [1], 'item': [7], 'rating': [5]})
    datasets.write_table(database + '?if_exists=append#r', {'user': [1], 'item': [7], 'rating': [5]})
database, query_of('odd')
    database, query_of('select cast(user as text) as user, item, rating from odd')
database, query_of('gaps')
    database, query_of('select * from gaps where user is not null')
database, query_of('bytes')
    database, query_of('select cast(user as text) as user, item, rating from bytes')
database, query_of('select user, item, item, rating from r')
    database, query_of('select user, item, item as other, rating from r')
datasets.open_data('stars.csv', 'r')
    datasets.open_data(database, 'r')
ratings.shard_files([database + '#r'], 'shop-shards')
    ratings.shard_files(['stars.csv'], 'shop-shards', restart=True)
datasets.write_table(database + '#r', {'user': [1]})
    datasets.write_table(database + '?if_exists=append#r', {'user': [1], 'item': [7], 'rating': [5]})
datasets.write_table(database, {'user': [1]})
    datasets.write_table(database + '?if_exists=replace#table', {'user': [1]})
datasets.write_table(database + '?if_exists=append#r', {'x': [1]})
    datasets.write_table(database + '?if_exists=replace#another', {'x': [1]})
files.without_password('postgresql://ann:a@b/c@host/shop')
    files.without_password('postgresql://ann:a%40b%2Fc@host/shop')
command('fit stars.csv --query r')
    database, command('fit sqlite:///shop.db --query r --model als --alpha 1 --out y.cofactor')
command('fit sqlite:///shop.db --query r --item-features sqlite:///shop.db')
    database, command('fit sqlite:///shop.db#r --model als --alpha 1 --out y.cofactor')
command('fit sqlite:///shop.db#r --out sqlite:///shop.db')
    database, command('fit sqlite:///shop.db#r --model als --alpha 1 --out y.cofactor')
command('similar als.cofactor --item 1 --out x.csv --table lists')
    database, command('similar als.cofactor --item 1 --out sqlite:///shop.db --table lists --if-exists replace')
# Bins.
datasets.bin_edges([], 3)
    datasets.bin_edges([], 3, limits=(0, 1))
    datasets.bin_edges([], [0, 1, 2])
datasets.bin_edges([1, 2, 3], 4)
    datasets.bin_edges([1, 2, 3], bins=3)
datasets.bin_edges([1, 2, 2], 4)
    datasets.bin_edges([1, 2, 2], bins=2)
datasets.bin_edges([-1, 1, 2], 2, 'log')
    datasets.bin_edges([-1, 1, 2], 2, bin_by='quantile')
os.mkfifo('pipe'); datasets.read_libsvm('pipe')
    typed('0,1 1:1\n1 2:.5\n'); datasets.read_libsvm('-')
datasets.read_ratings('counts.csv', bins=20, bin_by='width')
    datasets.read_ratings('counts.csv', bins=5)
    datasets.read_ratings('counts.csv', bins=20, bin_by='quantile')
# Data sets by name.
datasets.load_ratings('plant')
    known_sets; datasets.load_labels('plant', data_home='.')
datasets.load_labels('ml-100k')
    known_sets; datasets.load_ratings('ml-100k', data_home='.')
datasets.load_labels('plant', aligned='moved')
    known_sets; datasets.load_labels('plant', data_home='.')
savemat('human.mat', {'X': np.eye(3), 'Y': np.eye(3)}); datasets.load_labels('human', data_home='.')
    savemat('human.mat', {'X': np.eye(3106, 9), 'Y': np.eye(3106, 9)}); datasets.load_labels('human', data_home='.')
datasets.load_movielens('2m')
    known_sets; datasets.load_movielens(name='100k', data_home='.')
datasets.load_ratings('ml-100k', 'nowhere')
    known_sets; datasets.load_ratings('ml-100k', data_home='.')
    datasets.make_movies(9, 9, 20)  # cofactor demo
known_sets; datasets.find_file('ml-100k', 'ratings', 'nowhere')
    datasets.find_file('ml-100k', 'ratings', '.')
# Tables.
datasets.read_ratings('stars.csv', ids='none')
    datasets.read_ratings('stars.csv', ids='auto')
    datasets.read_ratings('stars.csv', ids='int')
    datasets.read_ratings('stars.csv', ids='str')
    datasets.read_ratings('stars.csv', ids='each')
datasets.read_ratings('stars.csv', sep='')
    datasets.read_ratings('stars.csv', sep=','); datasets.read_ratings(text_file('1;1;5\n1;2;4\n'),
    ... sep=';'); datasets.read_ratings(text_file('1\t1\t5\n1\t2\t4\n'),
    ... sep='\t'); datasets.read_ratings(text_file('1::1::5\n1::2::4\n'), sep='::')
datasets.read_ratings('words.csv')
    datasets.read_ratings('words.csv', scale=['down', 'up'])
datasets.read_ratings('stars.csv', scale=[1, 2, 3, 4, 5], bins=3)
    datasets.read_ratings('stars.csv', scale=[1, 2, 3, 4, 5])
    datasets.read_ratings('stars.csv', bins=3)
datasets.read_ratings('counts.csv', bin_by='quantile')
    datasets.read_ratings('counts.csv', bins=5, bin_by='quantile')
datasets.read_ratings(parquet_file(table.assign(rating=np.where(np.arange(len(y)) % 3, 0, y + 5))))
    datasets.read_ratings('table.parquet', drop_rating=0)
datasets.read_ratings(parquet_file(table.assign(user=0.5)))
    datasets.read_ratings(parquet_file(table.assign(user=1)))
    datasets.read_ratings(parquet_file(table.assign(user='0.5')))
datasets.read_ratings(parquet_file(table.assign(user=np.uint64(2**64 - 1))))
    datasets.read_ratings(parquet_file(table.assign(user=str(2**64 - 1))))
datasets.RatingDataset('plays', X, y, None).level_counts()
    datasets.RatingDataset('plays', X, y, None).binned(3).level_counts()
datasets.read_interactions(text_file('user,item,count,liked\n1,1,-1,1\n2,1,3,5\n'), count='count')
    datasets.read_interactions(text_file('user,item,count,liked\n2,1,3,5\n3,1,1,1\n'), count='count')
    datasets.read_ratings('text.csv', rating='liked')
datasets.read_interactions('stars.csv', count='rating')
    datasets.read_interactions('stars.csv')
    cofactor fit stars.csv --model ease --implicit --out seen.cofactor
# Shards.
ratings.shard_files('pairs.csv', 'shards')
    cofactor fit pairs.csv --model ease --implicit --out pairs.cofactor
    ratings.Recommender(ratings.EASE(), None).fit(datasets.read_interactions('pairs.csv'))
    ratings.shard_files(text_file('user,item,liked\n1,1,4\n1,2,3\n2,1,1\n'), 'shards', rating='liked')
ratings.shard_files(text_file('user,item,rating\n1,1,yes\n1,2,no\n2,1,no\n'), 'words')
    ratings.shard_files('text.csv', 'words', scale=['no', 'yes'])
# Features of users and items.
datasets.read_side_features(text_file('user,age\n1,\n2,3\n'))
    datasets.read_side_features(text_file('user,age\n1,4\n2,3\n'))
    datasets.read_side_features(text_file('user,age\n2,3\n'))
datasets.read_side_features(text_file('user,age\n1,old\n2,3\n'))
    datasets.read_side_features(text_file('user,age\n1,4\n2,3\n'))
    datasets.read_side_features(text_file('user,age\n1,old\n2,young\n'))
# Parquet.
parquet_file(table); datasets.read_ratings(cut('table.parquet', slice(9, None)))
    datasets.read_ratings('table.parquet')
parquet_file(table); datasets.read_ratings(cut('table.parquet'))
    datasets.read_ratings('table.parquet')
datasets.write_table('mixed.parquet', {'item': np.array([1, 'a'], dtype=object)})
    datasets.write_table('mixed.csv', {'item': np.array([1, 'a'], dtype=object)})
datasets.write_table('list.parquet', {'item': [1]}, safe_csv=True)
    datasets.write_table('list.parquet', {'item': [1]})
    datasets.write_table('list.csv', {'item': [1]}, safe_csv=True)
datasets.write_table('list.txt', {'item': [1]})
    datasets.write_table('list.csv', {'item': [1]})
    datasets.write_table('list.tsv', {'item': [1]})
    datasets.write_table('list.csv.gz', {'item': [1]})
    datasets.write_table('list.tsv.gz', {'item': [1]})
    datasets.write_table('list.parquet', {'item': [1]})
# Features and labels in tables.
datasets.read_label_table(toned)
    datasets.read_label_table(toned, labels='tag')
    datasets.read_label_table(toned, labels=['tag'])
    datasets.read_label_table(toned, labels=-1)
datasets.read_label_table(words, ['tag'])
    datasets.read_label_table(words, ['tag'], text=['note'])
    datasets.read_label_table(words, ['tag'], drop=['note'])
    datasets.read_label_table(words, ['tag'], id='note')
    datasets.read_label_table(words, ['tag'], max_values=60)
datasets.read_label_table(toned, ['tag'], text='age')
    datasets.read_label_table(toned, ['tag'], text='tone')
datasets.read_label_table(toned.assign(age=np.nan), ['tag'])
    datasets.read_label_table(toned.assign(age=np.nan), ['tag'], drop=['age'])
datasets.read_label_table(toned.assign(tag=[0, 1, np.nan, 1]), ['tag'])
    datasets.read_label_table(toned.assign(tag=[0, 1, 0, 1]), ['tag'])
    datasets.read_label_table(toned.assign(tag=[0, 1, np.nan, 1]), ['tag'], missing='ignore')
datasets.read_label_table(toned.assign(tag=['a,b', 'a', 'b', 'c']), ['tag'])
    datasets.read_label_table(toned.assign(tag=['a,b', 'a', 'b', 'c']), ['tag'], label_sep=',')
datasets.read_label_table(toned.assign(tag=['a;b', 'a;c', 'b;a', 'c;a']), ['tag'], label_sep=',')
    datasets.read_label_table(toned.assign(tag=['a;b', 'a;c', 'b;a', 'c;a']), ['tag'], label_sep=';')
tags_model.predict(toned.assign(size=3).drop(columns='tag'))
    tags_model.predict(toned.drop(columns='tag'))
datasets.read_label_table(toned.rename(columns={'age': 'tone=low'}).assign(last=1), ['tag'])
    datasets.read_label_table(toned, ['tag'])
# ARFF.
datasets.read_arff(arff_file(['x numeric', 'tag {0, 1}'], '1,0\n'))
    datasets.read_arff('tags.arff', labels=['tag'])
datasets.read_arff(arff_file(['x numeric', 'tag {0, 1}'], '1,0\n',
... '\'r: -C 1-weka.filters.unsupervised.attribute.Remove\''))
    datasets.read_arff('tags.arff', labels=['tag'])
datasets.read_arff(arff_file(['note string', 'x numeric', 'tag {0, 1}'], 'a,1,0\nb,1,1\n'), ['tag'])
    datasets.read_arff('tags.arff', ['tag'], drop=['note'])
    datasets.read_arff('tags.arff', ['tag'], id='note')
datasets.read_arff(text_file('x,y\n', 'no.arff'), 1)
    datasets.read_arff(arff_file(['x numeric', 'tag {0, 1}'], '1,0\n'), 1)
datasets.read_arff(arff_file(['x numeric', 'tag {0, 1}'], '', name='no.arff'), 1)
    datasets.read_arff(arff_file(['x numeric', 'tag {0, 1}'], '1,0\n'), 1)
datasets.read_arff(text_file('@relation r\n@attribute x numeric\n', 'no.arff'), 1)
    datasets.read_arff(arff_file(['x numeric', 'tag {0, 1}'], '1,0\n'), 1)
datasets.read_arff(text_file('@relation r\n@attribute \'x numeric\n', 'no.arff'), 1)
    datasets.read_arff(arff_file(['\'x\' numeric', 'tag {0, 1}'], '1,0\n'), 1)
datasets.read_arff(arff_file(['x numeric', 'tag {0, 1}'], '?,0\n'), ['tag'])
    datasets.read_arff(arff_file(['x numeric', 'tag {0, 1}'], '1,0\n'), ['tag'])
datasets.read_arff(arff_file(['x numeric', 'tag {0, 1}'], '1,?\n2,1\n'), ['tag'])
    datasets.read_arff('tags.arff', ['tag'], missing='ignore')
# MATLAB.
matrices; datasets.read_mat(cut('tags.mat'))
    datasets.read_mat('tags.mat')
datasets.read_mat(text_file('MATLAB 7.3 MAT-file', 'new.mat'))
    matrices; datasets.read_mat('tags.mat')  # save(..., '-v7')
# Chunks.
datasets.LabelChunks([(np.eye(2), np.eye(2))])
    labels.LabelRidge().fit([(features, tags)])
datasets.LabelChunks('-')
    libsvm; datasets.LabelChunks('tags.txt')
datasets.LabelChunks('stars.csv')
    datasets.write_chunks('stars.txt', [(d.X, d.Y) for d in [datasets.load_labels(text_file('a,tag\n1,0\n2,1\n'),
    ... 'tag')]]); datasets.LabelChunks('stars.txt')
datasets.write_chunks('named.txt', [(np.eye(2), np.eye(2))], label_names=['a', 'b'])
    datasets.write_chunks('named.parquet', [(np.eye(2), np.eye(2))], label_names=['a', 'b'])
datasets.LabelChunks(parquet_file(toned), labels=['tag'])
    datasets.load_labels('table.parquet', labels=['tag'])
    datasets.LabelChunks('table.parquet', labels=['tag'], drop=['tone'])
# libsvm.
datasets.read_libsvm(text_file('0 5:1\n', 'tags.txt'), n_features=3)
    datasets.read_libsvm('tags.txt', n_features=6)
    datasets.read_libsvm(text_file('1 5:1\n', 'tags.txt'), n_labels=1, n_features=5, zero_based=False)
datasets.read_libsvm('tags.txt', zero_based=3)
    libsvm; datasets.read_libsvm('tags.txt', zero_based='auto'); datasets.read_libsvm('tags.txt',
    ... zero_based=True); datasets.read_libsvm('tags.txt', zero_based=(True, True))
datasets.read_libsvm(text_file('3 2 2\n0 0:1\n', 'tags.txt'))
    datasets.read_libsvm(text_file('1 2 2\n0 0:1\n', 'tags.txt'))
datasets.read_libsvm(text_file('0 1 0:1\n', 'tags.txt'))
    datasets.read_libsvm(text_file('0,1 0:1\n', 'tags.txt'))
datasets.read_libsvm(text_file('0 0:1\n', 'tags.txt'), sparse=3)
    datasets.read_libsvm('tags.txt', sparse='auto')
    datasets.read_libsvm('tags.txt', sparse=True)
    datasets.read_libsvm('tags.txt', sparse=False)
# What else files can be.
datasets.load_labels('-', 'tag')
    typed('x,tag\n1,0\n2,1\n'); datasets.load_labels('-', 'tag', format='table')
datasets.load_labels('stars.csv', format='none')
    datasets.load_labels('stars.csv', 'rating', label_sep=',', format='table')
datasets.read_label_table('stars.csv', Path('rating'))
    datasets.read_label_table('stars.csv', labels='rating', label_sep=',')
datasets.read_label_table(text_file('low,1,0\nmid,2,1\n'), schema=tags_model.schema_)
    datasets.read_label_table(text_file('tone,age,tag\nlow,1,0\nmid,2,1\n'), schema=tags_model.schema_)
datasets.read_mat((savemat('nan.mat', {'X': np.full((2, 2), np.nan), 'Y': np.eye(2)}), 'nan.mat')[1])
    matrices; datasets.read_mat('tags.mat')
datasets.load_labels(parquet_file({'labels': [[0], None], 'indices': [[0], [1]], 'values': [[1.0], [2.0]]}))
    datasets.load_labels(parquet_file({'labels': [[0], []], 'indices': [[0], [1]], 'values': [[1.0], [2.0]]}))
known_sets; os.remove('u.user'); datasets.load_side_features('ml-100k', '.')
    text_file('1|20|M|other|1\n2|30|features|other|1\n', 'u.user'); datasets.load_side_features('ml-100k', '.')
rcv1; datasets.load_labels('rcv1-sample1', aligned='realigned', data_home='.')
    datasets.load_labels('rcv1subset1', aligned='realigned', data_home='.')
cofactor fit tickets.csv --out x.cofactor
    cofactor fit tickets.csv --labels tags --label-sep '|' --text body --id id --out x.cofactor
cofactor fit posts.csv --out x.cofactor
    cofactor fit posts.csv --user id --item title --out x.cofactor
    cofactor fit posts.csv --labels tags --label-sep '|' --text title,text --out x.cofactor
cofactor fit commas.csv --labels tag --drop a,b --out x.cofactor
    cofactor fit commas.csv --labels tag --drop '"a,b"' --out x.cofactor
# Invented data.
datasets.make_movies(10, 10, 90)
    datasets.make_movies(10, 10, 40)
    datasets.make_movies(10, n_items=30, n_ratings=90)
datasets.make_interactions(10, 10, 90)
    datasets.make_interactions(10, 10, 20)
    datasets.make_interactions(10, n_items=60, n_interactions=90)
datasets.make_labels(20, 16, 8, cardinality=9)
    datasets.make_labels(20, 16, 8, cardinality=2, tail=0)
datasets.make_ratings(9, 9, 3, max_iter=1, random_state=0)
    datasets.make_ratings(9, 9, 3, max_iter=1000, random_state=0)
    datasets.make_ratings(9, 9, 1, max_iter=1000, random_state=0)
datasets.make_labels(20, 16, 8, cardinality=2)[0].split()
    datasets.make_labels(20, 16, 8,
    ... cardinality=2)[0].take(next(iter(model_selection.KFold(2).split(np.eye(20))))[0])
# ------------------------------------------------------------------ models of labels
# What they are given.
labels.ClassifierChain().fit(features, tags).drop_labels([1])
    labels.ClassifierChain().fit(features, tags[:, [0, 2, 3]])
    labels.LabelRidge().fit(features, tags).drop_labels([1])
labels.LabelRidge().fit(features, tags).update(features, tags)
    labels.LabelRidge(updatable=True).fit(features, tags).update(features, tags)
labels.LabelRidge(updatable=True, kernel='rbf').fit(features, tags)
    labels.LabelRidge(updatable=True).fit(features, tags)
    labels.LabelRidge(kernel='rbf').fit(features, tags)
labels.LabelRidge(updatable=True).fit(features, tags, mask=np.arange(tags.size).reshape(tags.shape) > 0)
    labels.LabelRidge().fit(features, tags, mask=np.arange(tags.size).reshape(tags.shape) > 0)
    labels.LabelRidge(updatable=True).fit(features[1:], tags[1:])
labels.LabelRidge(updatable=True).fit(np.tile(features, 2000), tags)
    labels.LabelRidge().fit(np.tile(features, 2000), tags)
    labels.LabelRidge(updatable=True).fit(features, tags)
labels.LabelRidge().fit(features, tags[:, :3]).add_labels(features, tags[:, 3:])
    labels.LabelRidge().fit(features, tags[:, :3]).add_labels(features, tags[:, 3:], label_names=['d'])
labels.LabelRidge(updatable=True).fit(features, tags, label_names=list('abcd')).add_labels(features, tags[:, 3:], label_names=['d'])
    labels.LabelRidge(updatable=True).fit(features, tags, label_names=list('abcd')).update(features, tags)
    labels.LabelRidge().fit(features, tags, label_names=list('abcd')).drop_labels(['d']).add_labels(features, tags[:, 3:], label_names=['d'])
labels.LabelRidge().fit(features, tags[:, :3]).add_labels(features, 0 * tags[:, 3:], label_names=['d'])
    labels.LabelRidge().fit(features, tags[:, :3]).add_labels(features, tags[:, 3:], label_names=['d'])
labels.LabelRidge().fit(features, 0 * tags).add_labels(features, tags, label_names=list('abcd'))
    labels.LabelRidge().fit(features, tags)
labels.LabelRidge().fit(features, tags[:, :3]).set_decision(cuts=[.1, .2, .3]).add_labels(features, tags[:, 3:], label_names=['d'])
    labels.LabelRidge().fit(features, tags[:, :3]).set_decision(cuts=0.5).add_labels(features, tags[:, 3:], label_names=['d'])
labels.LabelRidge().fit(features)
    labels.LabelRidge().fit(features, y=tags)
labels.LabelRidge().fit(features, tags[:, 0])
    labels.LabelRidge().fit(features, tags[:, 0].reshape(-1, 1))
labels.LabelRidge().fit(np.where(features > 0.9, np.nan, features), tags)
    labels.LabelRidge().fit(impute.SimpleImputer().fit_transform(np.where(features > 0.9, np.nan, features)), tags)
    labels.LabelRidge().fit(features[1:], tags[1:])
labels.LabelRidge().fit(np.where(features > 0.99, np.inf, features), tags)
    labels.LabelRidge().fit(np.where(features > 0.99, 1, features), tags)
labels.LabelRidge().fit(np.where(features > 0.99, 1e300, features), tags)
    labels.LabelRidge().fit(features[~(features > 0.99).any(axis=1)], tags[~(features > 0.99).any(axis=1)])
    labels.LabelRidge().fit(preprocessing.MaxAbsScaler().fit_transform(features), tags)
labels.LabelRidge(scale='none').fit(np.where(features == features.max(), 1e10, features), tags)
    labels.LabelRidge().fit(features, tags)
    labels.LabelRidge().fit(preprocessing.MaxAbsScaler().fit_transform(features), tags)
labels.LabelRidge().fit(features * 1e-200, tags)
    labels.LabelRidge().fit(features * 1e-200 * (1 / np.max(features * 1e-200)), tags)
labels.LabelRidge().fit(['wind', 'rain'] * 3, [[0], [1]] * 3)
    pipeline.make_pipeline(feature_extraction.text.TfidfVectorizer(), labels.LabelRidge()).fit(['wind', 'rain'] * 3,
    ... [[0], [1]] * 3)
labels.LabelRidge().fit(np.eye(4), [['sql', 'css'], ['sql'], [], ['css']])
    labels.LabelRidge().fit(np.eye(4), preprocessing.MultiLabelBinarizer().fit_transform([['sql', 'css'], ['sql'], [],
    ... ['css']]), label_names=['css', 'sql'])
labels.LabelRidge().fit([['a', 1]] * 40, tags)
    labels.LabelRidge().fit(preprocessing.OneHotEncoder(sparse_output=False).fit_transform([['a'], ['b']] * 20),
    ... tags)
    labels.LabelRidge().fit(features[:, 1:], tags)
labels.LabelRidge().fit([[10**400, 1]] * 40, tags)
    labels.LabelRidge().fit(features, tags)
labels.LabelRidge().fit(np.vstack([features] * 3), np.vstack([tags] * 3))
    labels.LabelRidge().fit(features, tags, sample_weight=np.full(40, 3))
tags_model.predict(toned[['tone']])
    tags_model.predict(toned[['tone']].assign(age=np.nan))
tags_model.predict([[1.0, 2.0]])
    tags_model.predict(datasets.load_labels(text_file('tone,age,tag\nlow,1,0\nmid,2,1\n'), schema=tags_model.schema_))
tags_model.predict(['low'])
    tags_model.predict(toned[['tone', 'age']])
labels.FeatureSpace(features, sample_weight=np.arange(40))
    labels.FeatureSpace(features[1:], sample_weight=np.ones(39))
labels.LabelRidge(scale='none').fit(labels.FeatureSpace(features, scale='standard'), tags)
    labels.LabelRidge(scale='none').fit(labels.FeatureSpace(features, scale='none'), tags)
labels.LabelRidge().fit(labels.FeatureSpace(features), tags, sample_weight=np.arange(1, 41))
    labels.LabelRidge().fit(labels.FeatureSpace(features, sample_weight=np.arange(1, 41)), tags)
labels.PLST(fit_intercept=False).fit(labels.FeatureSpace(features), tags)
    labels.PLST(fit_intercept=False).fit(labels.FeatureSpace(features, fit_intercept=False), tags)
labels.CCA().fit(labels.FeatureSpace(features, fit_intercept=False), tags)
    labels.CCA().fit(labels.FeatureSpace(features, fit_intercept=True), tags)
labels.AdaBoostMH(1).fit(features, tags, sample_weight=np.full(40, 0.5))
    labels.LabelRidge().fit(features, tags, sample_weight=np.full(40, 0.5))
labels.PLST(scale='none').fit(np.column_stack([1 + 1e-5 * features, 1e7 * features[:, 0]]), tags)
    labels.PLST().fit(preprocessing.MaxAbsScaler().fit_transform(np.column_stack([1 + 1e-5 * features,
    ... 1e7 * features[:, 0]])), tags)
# Chunks.
labels.LabelRidge().fit([(features, tags)], tags)
    labels.LabelRidge().fit([(features, tags)])
labels.MLkNN().fit([(features, tags)])
    labels.BinaryRelevance(threshold=0.5).fit([(features, tags)])
    labels.CPLST(threshold=0.5).fit([(features, tags)])
    labels.CSSP(threshold=0.5).fit([(features, tags)])
    labels.CompressedSensing(threshold=0.5).fit([(features, tags)])
    labels.FeatureLabelCCA(threshold=0.5).fit([(features, tags)])
    labels.LEML(threshold=0.5).fit([(features, tags)])
    labels.LabelPCA(threshold=0.5).fit([(features, tags)])
    labels.LabelRidge(threshold=0.5).fit([(features, tags)])
    labels.PLST(threshold=0.5).fit([(features, tags)])
    labels.BinaryRelevance(linear_model.Ridge()).fit([(features, tags)])
    labels.BinaryRelevance(svm.LinearSVC(C=1)).fit([(features, tags)])
    labels.BinaryRelevance(linear_model.LogisticRegression(C=1)).fit([(features, tags)])
    labels.OMF(2).partial_fit(features, tags)
labels.LabelRidge().fit([(features, tags)], mask=tags == 1)
    labels.LabelRidge().fit([(features, tags)])
    labels.LabelRidge().fit(features, tags, mask=tags < 2)
labels.LabelRidge().fit(iter([(features, tags)]))
    labels.LabelRidge().fit([(features, tags)]); libsvm; labels.LabelRidge().fit(datasets.LabelChunks('tags.txt'))
labels.LabelRidge().fit([(features, tags, np.ones(40))])
    labels.LabelRidge().fit([(features, tags)], sample_weight=np.ones(40))
labels.LabelRidge().fit([(pd.DataFrame({'a': features[:, 0]}), tags), (pd.DataFrame({'b': features[:, 1]}), tags)])
    labels.LabelRidge().fit([(pd.DataFrame({'a': features[:, 0]}), tags), (pd.DataFrame({'a': features[:, 1]}),
    ... tags)])
labels.LabelRidge().fit(type('Chunks', (), {'n': 0, '__iter__': lambda self: (setattr(self, 'n', self.n + 1),
... iter([(features[self.n:], tags[self.n:])]))[1]})())
    labels.LabelRidge().fit([(features, tags)])
labels.LEML(1).fit([(wide, np.eye(3))])
    labels.LabelRidge(threshold=0.5).fit([(wide, np.eye(3))])
    labels.BinaryRelevance(linear_model.Ridge(), threshold=0.5).fit([(wide, np.eye(3))])
labels.OMF(2, scale='standard').partial_fit(features, tags)
    labels.OMF(2, scale='standard').fit(features, tags)
    labels.OMF(2, scale='auto').partial_fit(features, tags)
    labels.OMF(2, scale='none').partial_fit(features, tags)
    labels.OMF(2, scale='rows').partial_fit(features, tags)
labels.OMF(2).partial_fit(features[:3], tags[:3])
    labels.OMF(2).partial_fit(features[:5], tags[:5])
    labels.OMF(2, scale='none').partial_fit(features[:3], tags[:3])
labels.OMF(2).partial_fit(features, tags).partial_fit(features, 2 * tags - 1)
    labels.OMF(2).partial_fit(features, tags).partial_fit(features, tags)
ridge_frame.score(features, pd.DataFrame(tags, columns=list('abce')))
    ridge_frame.score(features, pd.DataFrame(tags, columns=list('abcd')))
# Labels that are not known.
labels.LabelRidge().fit(features, gappy)
    labels.LabelRidge(missing='ignore').fit(features, gappy)
labels.LabelRidge(missing='ignore').fit(features, np.where([1, 0, 0, 0], np.nan, tags))
    labels.LabelRidge().fit(features, tags[:, 1:])
labels.LabelRidge(missing='ignore').fit(features, np.where(tags * [1, 0, 0, 0] == [0, 1, 1, 1], np.nan, tags))
    labels.LabelRidge().fit(features, tags, recorded=0.9)
labels.MLkNN().fit(features, tags, mask=gappy == gappy)
    labels.PLST(1, missing='ignore', threshold=0.5).fit(features, gappy)
    labels.LabelPCA(1, missing='ignore', threshold=0.5).fit(features, gappy)
    labels.CPLST(1, missing='ignore', threshold=0.5).fit(features, gappy)
    labels.FeatureLabelCCA(1, missing='ignore', threshold=0.5).fit(features, gappy)
    labels.CSSP(1, missing='ignore', threshold=0.5).fit(features, gappy)
    labels.FAiE(1, missing='ignore', threshold=0.5).fit(features, gappy)
    labels.LEML(1, missing='ignore', threshold=0.5).fit(features, gappy)
    labels.GroPLE(1, missing='ignore', threshold=0.5).fit(features, gappy)
    labels.MME(1, missing='ignore', threshold=0.5).fit(features, gappy)
    labels.SSJDR(1, missing='ignore', threshold=0.5).fit(features, gappy)
    labels.CompressedSensing(4, missing='ignore', threshold=0.5).fit(features, gappy)
    labels.LabelRidge(missing='ignore').fit(features, gappy)
    labels.BinaryRelevance(missing='ignore').fit(features, gappy)
labels.LabelRidge(missing='ignore').fit(features, sp.csr_array(([np.nan], ([0], [0])), shape=(2**16, 2**16)))
    labels.LabelRidge(missing='ignore').fit(features, gappy)
labels.LEML(1, threshold=0.5, solver='als', missing='ignore').fit(features, gappy)
    labels.LEML(1, threshold=0.5, solver='lbfgs', missing='ignore').fit(features, gappy)
    labels.LEML(1, threshold=0.5, solver='auto', missing='ignore').fit(features, gappy)
labels.MME(1, threshold=0.5, form='pairs', missing='ignore').fit(features, gappy)
    labels.MME(1, threshold=0.5, form='labels', missing='ignore').fit(features, gappy)
# Decisions.
labels.LabelRidge(threshold=0.5, decide_for='macro').fit(features, tags)
    labels.LabelRidge(threshold='auto', decide_for='macro').fit(features, tags)
labels.CML(threshold='joint', decide_for='macro').fit(features, tags)
    labels.CML(threshold='joint').fit(features, tags)
    labels.CML(threshold='auto', decide_for='macro').fit(features, tags)
labels.CML(threshold='joint').fit(features, tags).decision_.predict(features[:, :4])
    labels.CML(threshold='joint').fit(features, tags).predict(features)
labels.LabelRidge(threshold=0.5).fit(features, tags).set_decision(precision=0.9)
    labels.LabelRidge(threshold='auto').fit(features, tags).set_decision(precision=0.9)
ridge_frame.set_decision(each_label=True)
    ridge_frame.set_decision(each_label=True, precision=0.6)
    ridge_frame.set_decision()
ridge_frame.set_decision(costs=3)
    ridge_frame.set_decision(costs=(1, 5))
labels.LabelRidge(threshold='auto').fit(features, tags).set_decision(at_most=2).fit_threshold(features, tags, 'global').set_decision(cuts={0: 0.5})
    labels.LabelRidge().fit(features, tags).set_decision(cuts={0: 0.5, 1: 0.5, 2: 0.5, 3: 0.5})
labels.LabelRidge(threshold=0.5).fit(features, tags).predict_set(features)
    labels.LabelRidge(threshold='auto').fit(features, tags).predict_set(features)
labels.LabelRidge(threshold=0.5).fit(features, tags).predict_proba(features)
    labels.LabelRidge(threshold='auto').fit(features, tags).predict_proba(features)
    labels.LabelRidge(threshold=0.5).fit(features, tags).fit_threshold(features, tags,
    ... 'auto').predict_proba(features)
labels.OMF(2, scale='none').partial_fit(features[:2], tags[:2]).predict_proba(features)
    labels.OMF(2, scale='none').partial_fit(features[:2], tags[:2]).partial_fit(features,
    ... tags).predict_proba(features)
labels.LabelRidge(threshold='global').fit(features[:1], tags[:1])
    labels.LabelRidge(threshold='global').fit(features, tags)
labels.LabelRidge(threshold=0.5).fit(features, tags, recorded=0.9)
    labels.LabelRidge(threshold=0.5).fit(features, tags)
    labels.LabelRidge(threshold='auto').fit(features, tags, recorded=0.9)
labels.LabelRidge().fit(features, tags, recorded=0.1)
    labels.LabelRidge().fit(features, tags, recorded=0.9)
labels.TreeCRF(set_sizes=(0, 3)).fit(features, tags)
    labels.TreeCRF().fit(features, tags)
    labels.TreeCRF(set_sizes=(0, 3), threshold='joint').fit(features, tags)
labels.CML(set_sizes=(0, 3), threshold='joint', inference='gibbs').fit(features, tags)
    labels.CML(threshold='joint', inference='gibbs').fit(features, tags)
    labels.CML(set_sizes=(0, 3), threshold='joint', inference='supported').fit(features, tags)
labels.CompressedSensing(4, threshold=0.5).fit(features, tags).explain(features, [0])
    labels.BinaryRelevance(threshold=0.5).fit(features, tags).explain(features, [0])
    labels.LabelRidge(threshold=0.5).fit(features, tags).explain(features, [0])
    labels.MLkNN(threshold=0.5).fit(features, tags).explain(features, [0])
    labels.AdaBoostMH(threshold=0.5).fit(features, tags).explain(features, [0])
    labels.LLSF(threshold=0.5).fit(features, tags).explain(features, [0])
# Parameters.
labels.BPMLL(threshold=0.5, learning_rate=1e300, decay=1e300, max_iter=3, random_state=0).fit(features, tags)
    labels.BPMLL(threshold=0.5, learning_rate=0.05, decay=1e-5, max_iter=3, random_state=0).fit(features, tags)
labels.BPMLL(threshold=0.5, learning_rate=1e3, decay=1e-5, max_iter=3, random_state=0).fit(features, tags)
    labels.BPMLL(threshold=0.5, learning_rate=0.05, decay=1e-5, max_iter=3, random_state=0).fit(features, tags)
labels.BRkNN(5, extension='a').fit(features, tags)
    labels.BRkNN(5, extension='a', threshold='joint').fit(features, tags)
labels.KNNVote(4).fit(features, tags)
    labels.KNNVote(n_neighbors=5).fit(features, tags)
    labels.BRkNN(4).fit(features, tags)
labels.LabelRidge(class_weight={0: 1, 1: 2}).fit(features, tags)
    labels.LabelRidge(class_weight=[2.0] * 4).fit(features, tags)
labels.CMLF(1.0, inference='gibbs', threshold=0.5, scale='none', tol=1.0).fit(features + 100, tags)
    labels.CMLF(1.0, inference='gibbs', threshold=0.5, scale='standard', tol=1.0).fit(features + 100, tags)
    labels.CMLF(1.0, inference='supported', threshold=0.5, tol=1.0, scale='none').fit(features + 100, tags)
labels.CML(inference='exact').fit(features, np.tile(tags, 4))
    labels.CML(1.0, inference='supported', threshold=0.5, tol=1.0).fit(features, np.tile(tags, 4))
    labels.CML(1.0, inference='gibbs', threshold=0.5, tol=1.0).fit(features, np.tile(tags, 4))
labels.TreeCRF(structure=[[0, 9], [1, 2], [2, 3]]).fit(features, tags)
    labels.TreeCRF(structure=np.array([[0, 1], [1, 2], [2, 3]])).fit(features, tags)
labels.CompressedSensing(1, random_state=0).fit(features, tags)
    labels.CompressedSensing(n_components=4, random_state=0).fit(features, tags)
labels.GroPLE(2, threshold=0.5, correlation='printed', alpha_r=1e6).fit(features, tags)
    labels.GroPLE(2, threshold=0.5, correlation='psd', alpha_r=1e6).fit(features, tags)
    labels.GroPLE(2, threshold=0.5, correlation='printed', alpha_r=1e-9).fit(features, tags)
labels.LEML(1, threshold=0.5, solver='als', loss='logistic').fit(features, tags)
    labels.LEML(1, threshold=0.5, solver='als', loss='squared').fit(features, tags)
    labels.LEML(1, threshold=0.5, solver='lbfgs', loss='logistic').fit(features, tags)
    labels.LEML(1, threshold=0.5, solver='auto', loss='logistic').fit(features, tags)
labels.MLCHMF(1, alpha=1.0, max_iter=1, threshold=0.5, random_state=0).fit(features, tags)
    labels.MLCHMF(1, alpha=1.0, max_iter=500, threshold=0.5, random_state=0).fit(features, tags)
labels.MNMF(2, threshold=0.5, scale='none', random_state=0).fit(sp.csr_array(-features), tags)
    labels.MNMF(2, threshold=0.5, scale='none', random_state=0).fit(-features, tags)
labels.FeatureNMF(2).fit(-features, tags)
    labels.FeatureNMF(2).fit(preprocessing.MinMaxScaler(clip=True).fit_transform(-features), tags)
    labels.FeatureNMF(2).fit(1 - features, tags)
labels.FeatureNMF(2, max_iter=1, random_state=0).fit(features, tags)
    labels.FeatureNMF(2, max_iter=1000, random_state=0).fit(features, tags)
    labels.FeatureNMF(2, max_iter=1000, tol=0.1, random_state=0).fit(features, tags)
labels.MDDM(1, kernel='rbf', gamma=1e-30).fit(features, tags)
    labels.MDDM(1, kernel='rbf', gamma=1.0).fit(features, tags)
    labels.MDDM(1, kernel='rbf', gamma='auto').fit(features, tags)
labels.LLSF(50.0, 0.1, correlation='original', threshold=0.5).fit(np.hstack([features, features]), tags)
    labels.LLSF(50.0, 0.1, correlation='psd', threshold=0.5).fit(np.hstack([features, features]), tags)
labels.CalibratedLabelRanking().fit(np.eye(3), [[0] * 450, [1] * 450, [1] * 450])
    labels.RAkEL().fit(features, tags)
    labels.HOMER().fit(features, tags)
    labels.BinaryRelevance().fit(features, tags)
labels.ClassifierChain(order=[0, 0, 1, 2]).fit(features, tags)
    labels.ClassifierChain(order=[3, 0, 1, 2]).fit(features, tags)
labels.ProbabilisticChain(inference='exact').fit(features, np.tile(tags, 4))
    labels.ProbabilisticChain(inference='beam', threshold=0.5).fit(features, np.tile(tags, 4))
    labels.ProbabilisticChain(inference='monte-carlo', threshold=0.5).fit(features, np.tile(tags, 4))
labels.RAkEL(overlapping=False, n_estimators=3).fit(features, tags)
    labels.RAkEL(overlapping=False).fit(features, tags)
    labels.RAkEL(overlapping=True, n_estimators=3).fit(features, tags)
labels.FeatureNMF(3, max_iter=1000, random_state=0).fit(nearly, tags).transform(nearly)
    labels.FeatureNMF(n_components=1, max_iter=1000, random_state=0).fit(nearly, tags).transform(nearly)
# Base learners.
labels.BinaryRelevance(naive_bayes.BernoulliNB(alpha=0, force_alpha=True)).fit(features * [1, 1, 1, 1, 0], tags)
    labels.BinaryRelevance(naive_bayes.BernoulliNB(alpha=1)).fit(features * [1, 1, 1, 1, 0], tags)
labels.BinaryRelevance(lda, threshold=0.5).fit(sp.csr_array(features), tags)
    labels.BinaryRelevance(lda, threshold=0.5).fit(features, tags)
    labels.BinaryRelevance(svm.LinearSVC()).fit(sp.csr_array(features), tags)
    labels.BinaryRelevance(bayes, threshold=0.5).fit(sp.csr_array(features), tags)
    labels.BinaryRelevance(tree.DecisionTreeClassifier()).fit(sp.csr_array(features), tags)
labels.BinaryRelevance(lda, threshold=0.5).fit(features, tags).set_params(estimator=bayes).save('lda.cofactor')
    labels.BinaryRelevance(estimator=bayes, threshold=0.5).fit(features, tags).save('bayes.cofactor')
labels.BinaryRelevance(estimator=lda, threshold=0.5).fit(features, tags).save('lda.cofactor')
    labels.BinaryRelevance(bayes, threshold=0.5).fit(features, tags).save('bayes.cofactor')
    labels.BinaryRelevance(lda, threshold=0.5).fit(features, tags).predict(features)
labels.BinaryRelevance(estimator=neighbors.KNeighborsClassifier(n_neighbors=3, metric=lambda a,
... b: abs(a - b).sum())).fit(features, tags).save('knn.cofactor')
    labels.BinaryRelevance(estimator=neighbors.KNeighborsClassifier(n_neighbors=3,
    ... metric='manhattan')).fit(features, tags).save('knn.cofactor')
labels.BinaryRelevance(estimator=pipeline.Pipeline(steps=[('scale', preprocessing.StandardScaler()), ('machine',
... svm.LinearSVC())])).fit(features, tags).save('pipe.cofactor')
    cofactor.save(pipeline.make_pipeline(preprocessing.StandardScaler(),
    ... labels.BinaryRelevance(svm.LinearSVC())).fit(features, tags), 'pipe.cofactor')
labels.BinaryRelevance(neighbors.KNeighborsClassifier(n_neighbors=50)).fit(features, tags)
    labels.BinaryRelevance(neighbors.KNeighborsClassifier(5)).fit(features, tags)
    labels.BinaryRelevance(neighbors.KNeighborsClassifier(n_neighbors=50)).fit(np.vstack([features, 1 - features]),
    ... np.vstack([tags, 1 - tags]))
labels.BinaryRelevance(linear_model.LogisticRegression(C=1e6, max_iter=1)).fit(features, tags)
    labels.BinaryRelevance(linear_model.LogisticRegression(C=1.0, max_iter=1000)).fit(features, tags)
labels.PLST(1, alpha=1e-300, scale='none').fit(np.diag([1e7, 1.0, 1.0]), [[0], [1], [1]])
    labels.PLST(1, alpha=1.0, scale='none').fit(np.diag([1e7, 1.0, 1.0]), [[0], [1], [1]])
# The same in a shell.
cofactor fit texts.csv --labels tag --out n.cofactor
    cofactor fit texts.csv --labels tag --drop note --out n.cofactor
    cofactor fit texts.csv --labels tag --id note --out n.cofactor
    cofactor fit texts.csv --labels tag --text note --out n.cofactor
    cofactor fit texts.csv --labels tag --max-values 60 --out n.cofactor
cofactor fit aged.csv --task labels --out n.cofactor
    cofactor fit aged.csv --labels tag --out n.cofactor
cofactor fit tagged.csv --labels tags --out n.cofactor
    cofactor fit tagged.csv --labels tags --label-sep ';' --out n.cofactor
cofactor fit tagged.csv --labels tags --label-sep , --out n.cofactor
    cofactor fit tagged.csv --labels tags --label-sep ';' --out n.cofactor
cofactor fit labels.arff --out n.cofactor
    cofactor fit labels.arff --labels tag --out n.cofactor
cofactor fit counts.csv --model als --alpha 1 --bin-by quantile --out n.cofactor
    cofactor fit counts.csv --model als --alpha 1 --bins 5 --bin-by quantile --out n.cofactor
cofactor fit zeros.csv --model als --alpha 1 --out n.cofactor
    cofactor fit zeros.csv --model als --alpha 1 --drop-rating 0 --out n.cofactor
cofactor fit stars.csv --model ease --count rating --out n.cofactor
    cofactor fit stars.csv --model ease --out n.cofactor
cofactor shard pairs.csv --out shards-of-pairs
    cofactor fit pairs.csv --model ease --implicit --out n.cofactor
    cofactor shard liked.csv --rating liked --out shards-of-likes
    datasets.read_interactions('pairs.csv')
cofactor recommend als.cofactor --all --out x.parquet --safe-csv
    cofactor recommend als.cofactor --all -n 3 --out x.parquet
    cofactor recommend als.cofactor --all -n 3 --out x.csv --safe-csv
cofactor recommend als.cofactor --all --out x.txt
    cofactor recommend als.cofactor --all -n 3 --out x.tsv.gz
cofactor fit aged.csv --labels tag --threshold 0.5 --decide-for macro --out n.cofactor
    cofactor fit aged.csv --labels tag --threshold auto --decide-for macro --out n.cofactor
cofactor fit aged.csv --labels tag --model knn-vote --param n_neighbors=4 --out n.cofactor
    cofactor fit aged.csv --labels tag --model knn-vote --param n_neighbors=5 --out n.cofactor
    cofactor fit aged.csv --labels tag --model BRkNN --param n_neighbors=4 --out n.cofactor
cofactor fit aged.csv --labels tag --model leml --param solver=als --param loss=logistic --out n.cofactor
    cofactor fit aged.csv --labels tag --model leml --param solver=als --param loss=squared --out n.cofactor
    cofactor fit aged.csv --labels tag --model leml --param solver=lbfgs --param loss=logistic --out n.cofactor
    cofactor fit aged.csv --labels tag --model leml --param solver=auto --param loss=logistic --out n.cofactor
cofactor fit aged.csv --labels tag --threshold 0.5 --at-most 1 --out n.cofactor
    cofactor fit aged.csv --labels tag --at-most 1 --out n.cofactor
cofactor fit aged.csv --labels tag --threshold 0.5 --recorded 0.9 --out n.cofactor
    cofactor fit aged.csv --labels tag --threshold auto --recorded 0.9 --out n.cofactor
cofactor fit aged.csv --labels tag --threshold 0.9 --out plain.cofactor
    cofactor fit aged.csv --labels tag --threshold auto --out n.cofactor
cofactor predict plain.cofactor aged.csv --coverage 0.9
    cofactor fit aged.csv --labels tag --threshold auto --out n.cofactor
cofactor fit toned.csv --labels tag --text age --out n.cofactor
    cofactor fit toned.csv --labels tag --text tone --out n.cofactor
cofactor fit gaps.csv --labels tag --missing ignore --model mlknn --out n.cofactor
    cofactor fit gaps.csv --labels tag --missing ignore --model LabelRidge --out n.cofactor
    cofactor fit gaps.csv --labels tag --missing ignore --model BinaryRelevance --out n.cofactor
cofactor fit stars.csv --model ordinal-probit --item-features gaps.csv --out n.cofactor
    cofactor fit aged.csv --labels tag --out n.cofactor
cofactor fit aged.csv --labels tag --model rakel --param n_estimators=3 --param overlapping=false --out n.cofactor
    cofactor fit toned.csv --drop tone --labels tag,loud --model rakel --param overlapping=false --out n.cofactor
    cofactor fit toned.csv --drop tone --labels tag,loud --model rakel --param n_estimators=3 --out n.cofactor
"""
