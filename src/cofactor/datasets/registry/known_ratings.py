"""The known data sets of ratings: files, checksums, archives."""

from cofactor.datasets.registry.entries import KnownDataset, KnownFile

_GROUPLENS = "https://files.grouplens.org/datasets/movielens/"
_GROUPLENS_TERMS = "research use with acknowledgement; no redistribution without permission; no commercial use"

# GroupLens publishes md5 checksums of the archives (100K 0e33842e..., 1M c4d9eecf...); the sha256 checksums of
# the same archives were recorded independently by many users, and those of the files were computed from copies.
# GroupLens replaces latest-small at times: the checksums are those of September 2018, unchanged since.
RATING_SETS: tuple[KnownDataset, ...] = (
    KnownDataset(
        name="ml-100k",
        folder="movielens/ml-100k",
        description="MovieLens 100K (GroupLens, 1998): 943 users, 1,682 films, 100,000 ratings 1..5",
        terms=_GROUPLENS_TERMS,
        origin=_GROUPLENS + "ml-100k.zip",
        files=(
            KnownFile(
                "ratings",
                ("u.data",),
                {"u.data": "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490"},
            ),
            KnownFile(
                "titles",
                ("u.item",),
                {"u.item": "553841ebc7de3a0fd0d6b62a204ea30c1e651aacfb2814c7a6584ac52f2c5701"},
                required=False,
            ),
        ),
        url=_GROUPLENS + "ml-100k.zip",
        archive_sha256="50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
        member_folder="ml-100k",
    ),
    KnownDataset(
        name="ml-1m",
        folder="movielens/ml-1m",
        description="MovieLens 1M (GroupLens, 2000): 6,040 users, 3,706 rated films, 1,000,209 ratings 1..5",
        terms=_GROUPLENS_TERMS,
        origin=_GROUPLENS + "ml-1m.zip",
        files=(
            KnownFile(
                "ratings",
                ("ratings.dat", "ratings_no_timestamp.dat", "ratings.csv", "ratings.tsv"),
                {
                    "ratings.dat": "506d64ca44484487c11dc2d9a28de5c54948213e6b96285e298afe28d6ea4e0f",
                    "ratings_no_timestamp.dat": ("2dad134c8b493373beed8d2a42e18ec2a93606fd957bd76c0bfbdef5c514b985"),
                },
            ),
            KnownFile(
                "titles",
                ("movies.dat", "movies.csv"),
                {"movies.dat": "0140fc2356357c1a851d0f52e893a1e4d3696df632c4141cea8d5bc3d621f0b9"},
                required=False,
            ),
        ),
        url=_GROUPLENS + "ml-1m.zip",
        archive_sha256="a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
        member_folder="ml-1m",
    ),
    KnownDataset(
        name="ml-latest-small",
        folder="movielens/ml-latest-small",
        description=(
            "MovieLens latest-small (GroupLens, September 2018): 610 users, 9,724 rated films, "
            "100,836 ratings 0.5..5 in half stars"
        ),
        terms="research use with acknowledgement; redistribution under the same terms; no commercial use",
        origin=_GROUPLENS + "ml-latest-small.zip",
        files=(
            KnownFile(
                "ratings",
                ("ratings.csv",),
                {"ratings.csv": "aa289ca83157595d0df6aea1be6a4ded676ddc4385472e8313a8ed9805352646"},
            ),
            KnownFile(
                "titles",
                ("movies.csv",),
                {"movies.csv": "5a5f32dd9bb3797b8e728a1b98958789d2b13f294a69fdfbc5727f8a9611aa07"},
                required=False,
            ),
        ),
        url=_GROUPLENS + "ml-latest-small.zip",
        archive_sha256="696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436",
        member_folder="ml-latest-small",
    ),
    KnownDataset(
        name="jester-1",
        folder="jester",
        description=(
            "Jester 1, part 1 (Goldberg et al., 2001): 24,983 users, 100 jokes, 1,810,455 continuous ratings "
            "from -10 to 10"
        ),
        terms="research use with citation",
        # Published as a spreadsheet in a zip archive, so it cannot be downloaded in a form which is read here.
        origin="http://eigentaste.berkeley.edu/dataset/jester_dataset_1_1.zip (export its table as CSV)",
        files=(
            KnownFile(
                "ratings",
                ("jester-data-1.csv",),
                {"jester-data-1.csv": "4692895acc91263ec11592cb94687725e28afdd451845ab46c2ac6ba3ebc414e"},
            ),
        ),
    ),
)
