"""Write posts.csv and new_posts.csv: short texts and their tags, for the README."""

import csv
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
NOUNS = {
    "sea": "beach boat coast harbour island lighthouse sailor shell swim tide wave",
    "mountains": "boots cabin cliff fog glacier hut path ridge snow summit valley",
    "food": "bread cake cheese fish lemon market noodles picnic restaurant soup tea",
    "music": "band choir concert dance drums guitar opera singer song theatre violin",
    "city": "bridge cafe market museum street station theatre tower traffic tram window",
    "family": "birthday brother children cousin dinner father picnic sister story twins wedding",
}
"""Words for each tag; some belong to two."""
COMMON = "a the old first quiet after before with near our small long under without bright"


def post(rng):
    """Return a text and its tags: two words for each tag and six common words, in random order."""
    tags = sorted(rng.choice(list(NOUNS), size=rng.integers(1, 4), replace=False))
    words = [word for tag in tags for word in rng.choice(NOUNS[tag].split(), 2, replace=False)]
    words += list(rng.choice(COMMON.split(), size=6))
    return " ".join(rng.permutation(words)), ";".join(tags)


def write(name, head, rows):
    """Write a CSV file next to this script."""
    with open(FOLDER / name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    posts = [post(rng) for _ in range(150)]
    write("posts.csv", ["text", "tags"], posts[:120])
    write("new_posts.csv", ["text"], [[text] for text, _ in posts[120:]])
