"""The known data sets of labels: files, checksums, splits, remarks."""

from dataclasses import dataclass

from cofactor.datasets.registry.entries import KnownDataset, KnownFile, Role


@dataclass(frozen=True)
class KnownLabels(KnownDataset):
    """A multi-label data set of the registry.

    `rows` counts the instances; `train` is the range of the training rows of the official split, if there is one;
    `drop` names attributes which are neither features nor labels. The rows of a file "test" come after those of the
    file "data".
    """

    rows: int = 0
    train: tuple[int, int] | None = None
    drop: tuple[str, ...] = ()


_MULAN = "https://mulan.sourceforge.net/datasets-mlc.html"
_MEKA = "https://waikato.github.io/meka/datasets/"
_MLDR = "https://github.com/fcharte/mldr.datasets"
_TAIL = "https://github.com/ruchi-9/Handling-Tail-Labels-with-Data-Augmentation-and-Self-Training"
_PMLFS = "https://github.com/peipeilihfut/PMLFS_Partial-Multi-Label-Feature-Selection"
_NONE_STATED = "no licence stated; research use with citation"
_REUTERS = "Reuters terms, research use; the vectors are distributed freely"

#: sha256 of the unpacked files.
_SHA256 = {
    "bibtex-test.arff": "9b03329cde64d3f994bdf7fbbac3f3b10fe185c311cb9ae725475f59c7f3f922",
    "bibtex-train.arff": "8dcc9de6e0b2cebaec8c1f4fac78431adeeb73cfd3ab879b530a66d366e59174",
    "bibtex.xml": "08fe20013c1e75dcf1888c185f5187c95e76495b8518ce289b4d3afce38d1232",
    "cal500.arff": "cfe6097ba5fd6e8584e54911ab9783dcab34e898446b7c9370c71d477eae56d3",
    "cal500.xml": "877e128531268d7661faa3e44f7bb43cbcda829c0895e49879168775b192728c",
    "Corel16k001.arff": "17544059c89d7272b651934e6eed7559402bf2f64c5cb5a21a8e026afdfa5184",
    "Corel5k-sparse.arff": "12c06161d2367f919f6da912089a6c9180c115cfcefa37afacfdeb903930eb7e",
    "Corel5k.xml": "54ef6a6ccb7ca9b77524052b34b306d5d501661a5609b9d1cc7085b2b597679d",
    "delicious.arff": "b944de0bca910050c11d97eed57d17b073110ea3646a587f3d15d127cf581aab",
    "delicious.xml": "4e0c0f93c7d86a39b9fca4aaefaa00e9428f2c80277732dfbf03ca48e2c14da2",
    "emotions.arff": "6f2f790047073d1293ac0872c0d55f2dc98b6177802fc96c6b66b309dfee1e4b",
    "emotions.xml": "dbce8e6ccbbb2fcbfd9e9edbb230d7ed12692c6e13f59fdbc0161fa9b6cf2dc0",
    "flags-test.arff": "09f6136fae47dcc2f0f491efd6401a11072cbfb0bfbb2666c63b35bb06aeeb16",
    "flags-train.arff": "1861cdab7f8baf1aef6fb6198f304465ddfd99b7f9a435337c604119522df3c5",
    "flags.xml": "7c9ed21a91b716b91f811323e20ee5a260ea2da62a5edcfeb1b91ec855a48f17",
    "genbase.arff": "cb23052a49191e36e9a59cd661e97d79bed2e3f2583030a206692b57bf1e3671",
    "genbase.xml": "198e8a1d7070e9603119e02e626cedc589db7577339b307b06f5192047b69eb9",
    "human.mat": "b23ec907f4e88732cbabb34361a2eff4d04377fc22da376a4496c3e1d28d1446",
    "humanGO.mat": "f1d0ce468702f967ba48067c51e2e344ca92f0d64e6f92b01760fb674f64a908",
    "LLOG-F.arff": "b2aaa2cb0bda1dec9b9bd15a7784c79008f5f3d36a1d2718b25f43a2e1dbd353",
    "LLOG-F.xml": "9bac9bc99285db3458e00534cad38da02504c855e4b5542b599bb262c3dd3000",
    "medical.arff": "ad0630a9a409ed0023c3bb56a0be7610b635c1ca185c6035e3b198b01167aac4",
    "medical.xml": "51fa9d5c09e48caff3f0a0c75db1c9aa85944f8e35451f3ad8bd56fc422286ce",
    "OHSUMED-F.arff": "966fbfaa388fff6ea14bf38f91266b2330303ee63b61f10e3a9ef52b758f91d3",
    "plant.mat": "a9b12ca69915b2aabd9decd7bdbab28bd90df98cf3f36124d4c3ca2a9d97254e",
    "label_offsets.json": "f67a21cbd637f687065cff40bf0cc883d59e952ff56332643738dcd781b4e902",
    "rcv1-sample1.mat": "5063ba16be475923b5d9d270d5b7de28ef16a0bf0f57df71996669110cdb4b1e",
    "rcv1-sample2.mat": "0ffaa001e2b24ae6be3cce05050bf438b35c5f97322279ffcddd6ccf98a25036",
    "rcv1-sample3.mat": "cb778325d080ee4b99ea321aa5b84fd3806ef492887c3a06ee401345138c0561",
    "rcv1-sample4.mat": "9c75006e40752f444bdf96f58ddc820888973482d0d57c6123aa80134e786e20",
    "rcv1-sample5.mat": "73a545bd53d1d6a98faefceb6bb31c86658b25e9c82c9b7f877ceed034090d57",
    "rcv1subset1.arff": "614e0f43a971f048266883de0940ec9b3db92f0faa5d0ab10d8d90f104759c8d",
    "rcv1subset1.xml": "e1028f4f10b8974d8881c30eb6e7f231ba248154999c85b8d7d95e18e10b2480",
    "rcv1subset2.arff": "3f8858488891edf891c74174ed5e2174bd282853f6780ae3aa9f8e409584a867",
    "rcv1subset2.xml": "e1028f4f10b8974d8881c30eb6e7f231ba248154999c85b8d7d95e18e10b2480",
    "rcv1subset3.arff": "192242fc5ccc285f6495f34b35703b54797112140c2084eb28906d66627260d0",
    "rcv1subset3.xml": "e1028f4f10b8974d8881c30eb6e7f231ba248154999c85b8d7d95e18e10b2480",
    "rcv1subset4.arff": "f184f534979ceb57c026483bbfe0b1509a20b4f408c7e25ca9a28a54c180f04b",
    "rcv1subset4.xml": "e1028f4f10b8974d8881c30eb6e7f231ba248154999c85b8d7d95e18e10b2480",
    "rcv1subset5.arff": "7a86bb047d74250cb79d687f654f5cfaa51c3c1d53ef149f1a913d770d46d782",
    "rcv1subset5.xml": "e1028f4f10b8974d8881c30eb6e7f231ba248154999c85b8d7d95e18e10b2480",
    "scene-test.arff": "ea38d20296b3ff7e220f477a3b802a9bcb2d768881fe6ee163efbc97ea527a42",
    "scene-train.arff": "b53ba93bdf412de922e3960389bcee24744fa3e872ce610511fc1d750888b64d",
    "scene.xml": "55d8b247b949ad5c52e5a73d8c6775ec6e5469ce9682465b45b333b68ee4bcc5",
    "Arts.mat": "978dfa84613f4bacf801f5292a31c7e8a40696b34a9c4c5b3514830d61f160d5",
    "Business.mat": "b91c9069b80ce0e56ec4b018714d252c19c3fe7cfeec70038088647e1c39b00e",
    "Computers.mat": "8cb60b3cabc5f53206d4c18bd77dda2c01301fc0856651f901e593ed4c209b59",
    "Education.mat": "d5f9ddaa63060f0a5fc6e5699b687aba7c2c277784761957c517ca0f6355718e",
    "Entertainment.mat": "624bd824ec67786119fe58302a2983a57865f9dcf21d9ba0b8f40469f647a231",
    "Health.mat": "c60fc9fb960bd77a09961d84b29e9fa73a25445452742d5c784ffeae7f64075b",
    "Recreation.mat": "1832f4983d4758184fbcda96804d0b1e4cd5e221f956b2ec0776170b516c2177",
    "Reference.mat": "01abf568b544e57f0218209e100a9e4bcd3c0940945b295c110913ef42b445c2",
    "Science.mat": "05a3d13b24a9024a2cedd43a97b85d955a0ccefd428b78f718babe80feb86121",
    "Social.mat": "374d81bd3de6b3e95f4ce2ded61dac6c0298dce866690b73ebb871b5beb2b012",
    "Society.mat": "fe2c60b24712c4fa4d7706c56d88b29d9f686e1ece3853f1f42c310b839648ea",
    "yeast.arff": "55c07a3b6ff885ae338fb6987a1d57f55572b29809922c2822c4885c61230dd7",
    "yeast.xml": "c3056cc26444b5158b1588d1b73bec9c45429e10f0957ad085903423cb81f247",
}


def _files(**names: str) -> tuple[KnownFile, ...]:
    roles: tuple[Role, ...] = ("data", "test", "labels", "offsets")
    return tuple(
        KnownFile(role, (names[role],), {names[role]: _SHA256[names[role]]}) for role in roles if role in names
    )


def _set(
    name: str,
    folder: str,
    description: str,
    files: tuple[KnownFile, ...],
    rows: int,
    train: tuple[int, int] | None = None,
    *,
    origin: str = _MULAN,
    terms: str = _NONE_STATED,
    drop: tuple[str, ...] = (),
) -> KnownLabels:
    place = f"multilabel/{folder}"
    return KnownLabels(name, place, description, terms, origin, files, task="labels", rows=rows, train=train, drop=drop)


def _mulan(name: str, stem: str, suffix: str = "") -> tuple[KnownFile, ...]:
    return _files(data=f"{stem}{suffix}.arff", labels=f"{name}.xml")


def _halves(stem: str) -> tuple[KnownFile, ...]:
    """Train and test file, where the full file has the rows in another order or is not there."""
    return _files(data=f"{stem}-train.arff", test=f"{stem}-test.arff", labels=f"{stem}.xml")


_SHIFTED = "; labels of half of the rows are shifted in the published file (load_labels, aligned=)"
_CUT = "; stems from the files with shifted labels and cannot be realigned"

_RCV1 = tuple(
    _set(
        f"rcv1subset{k}",
        "rcv1",
        f"rcv1 subset {k} (Lewis et al., 2004): news stories, {features:,} features, 101 labels{_SHIFTED}",
        _files(data=f"rcv1subset{k}.arff", labels=f"rcv1subset{k}.xml", offsets="label_offsets.json"),
        6000,
        origin=_MLDR,
        terms=_REUTERS,
    )
    for k, features in enumerate((47_236, 47_236, 47_236, 47_229, 47_235), start=1)
) + tuple(
    _set(
        f"rcv1-sample{k}",
        "rcv1",
        f"rcv1 sample {k} (Lewis et al., 2004): news stories, 944 binary features, 101 labels{_CUT}",
        _files(data=f"rcv1-sample{k}.mat"),
        6000,
        (0, 3000),
        origin=_TAIL,
        terms=_REUTERS,
    )
    for k in range(1, 6)
)

_YAHOO = tuple(
    _set(
        f"yahoo-{topic.lower()}",
        "yahoo",
        f"Yahoo {topic} (Ueda & Saito, 2002): web pages, {features:,} features, {labels} labels",
        _files(data=f"{topic}.mat"),
        5000,
        (0, 2000),
        origin=_PMLFS,
    )
    for topic, features, labels in (
        *(("Arts", 462, 26), ("Business", 438, 30), ("Computers", 681, 33), ("Education", 550, 33)),
        *(("Entertainment", 640, 21), ("Health", 612, 32), ("Recreation", 606, 22), ("Reference", 793, 33)),
        *(("Science", 743, 40), ("Social", 1047, 39), ("Society", 636, 27)),
    )
)

LABEL_SETS: tuple[KnownLabels, ...] = (
    _set(
        "emotions",
        "emotions",
        "Emotions (Trohidis et al., 2008): songs, 72 features of their sound, 6 moods",
        _mulan("emotions", "emotions"),
        593,
        (0, 391),
    ),
    _set(
        "scene",
        "scene",
        "Scene (Boutell et al., 2004): photographs, 294 features of colour, 6 labels",
        _halves("scene"),
        2407,
        (0, 1211),
    ),
    _set(
        "yeast",
        "yeast",
        "Yeast (Elisseeff & Weston, 2001): genes, 103 features, 14 functions",
        _mulan("yeast", "yeast"),
        2417,
        (917, 2417),
    ),
    _set(
        "flags",
        "flags",
        "Flags (UCI; Goncalves et al., 2013): 19 features of countries and flags (43 when coded), 7 colours",
        _halves("flags"),
        194,
        (0, 129),
        terms="CC BY 4.0 (UCI)",
    ),
    _set(
        "genbase",
        "genbase",
        "Genbase (Diplaris et al., 2005): proteins, 1,185 motifs, 27 families; row names left out, no exact split",
        _mulan("genbase", "genbase"),
        662,
        drop=("protein",),
    ),
    _set(
        "medical",
        "medical",
        "Medical (Pestian et al., 2007): radiology reports, 1,449 words, 45 codes",
        _mulan("medical", "medical"),
        978,
        (645, 978),
        terms="challenge data, research use",
    ),
    _set(
        "cal500",
        "cal500",
        "CAL500 (Turnbull et al., 2008): songs, 68 features of their sound, 174 tags",
        _mulan("cal500", "cal500"),
        502,
    ),
    _set(
        "llog",
        "llog",
        "Language Log (Read, 2010): posts, 1,004 words, 75 tags; 207 rows without label, 204 repeated rows",
        _mulan("LLOG-F", "LLOG-F"),
        1460,
        origin=_MLDR,
    ),
    _set(
        "corel5k",
        "corel5k",
        "Corel5k (Duygulu et al., 2002): images, 499 visual words, 374 keywords",
        _mulan("Corel5k", "Corel5k", "-sparse"),
        5000,
        (0, 4500),
    ),
    _set(
        "corel16k001",
        "corel16k001",
        "Corel16k, sample 1 (Barnard et al., 2003): images, 500 visual words, 153 keywords",
        _files(data="Corel16k001.arff"),
        13_766,
        (0, 12_022),
        origin=_MEKA,
    ),
    _set(
        "bibtex",
        "bibtex",
        "Bibtex (Katakis et al., 2008): bibliography entries, 1,836 words, 159 tags",
        _halves("bibtex"),
        7395,
        (0, 4880),
    ),
    _set(
        "delicious",
        "delicious",
        "Delicious (Tsoumakas et al., 2008): bookmarked pages, 500 words, 983 tags",
        _mulan("delicious", "delicious"),
        16_105,
        (0, 12_920),
    ),
    _set(
        "ohsumed",
        "ohsumed",
        "OHSUMED (Hersh et al., 1994): medical abstracts, 1,002 words, 23 diseases",
        _files(data="OHSUMED-F.arff"),
        13_929,
        origin=_MEKA,
        terms="research use, non-commercial",
    ),
    *_RCV1,
    _set(
        "plant",
        "plant",
        "Plant (Chou & Shen, 2010): proteins, 440 pseudo amino acid features, 12 places in the cell",
        _files(data="plant.mat"),
        978,
        (0, 588),
        origin=_TAIL,
    ),
    _set(
        "human",
        "human",
        "Human (Shen & Chou, 2009): proteins, 440 pseudo amino acid features, 14 places in the cell",
        _files(data="human.mat"),
        3106,
        (0, 1862),
        origin=_TAIL,
    ),
    _set(
        "humango",
        "human",
        "Human, gene ontology (Shen & Chou, 2009): proteins, 9,844 binary features, 14 places in the cell",
        _files(data="humanGO.mat"),
        3106,
        (0, 1862),
        origin=_TAIL,
    ),
    *_YAHOO,
)
