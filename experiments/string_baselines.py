"""Strings from strings by scikit-learn: rules that change the ends of a word, or the nearest word.

``python -m experiments.string_baselines`` prints exact matches on inflection, names and CMUdict.
"""

from __future__ import annotations

from difflib import SequenceMatcher

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from mercer.datasets import load_cmudict, load_inflection, load_transliteration
from mercer.metrics import exact_match

RULES = "scikit-learn: LinearSVC on rules for the ends"
NEAREST = "scikit-learn: the output of the nearest input"
Rule = tuple[int, str, int, str]


def rule_of(word: str, form: str) -> Rule:
    """Return a rule: how many letters are cut from both ends, and what replaces them."""
    match = SequenceMatcher(None, word, form, autojunk=False).find_longest_match()
    a, b, size = match.a, match.b, match.size
    return a, form[:b], len(word) - a - size, form[b + size :]


def apply_rule(word: str, rule: Rule) -> str:
    """Return a word after its ends are changed by a rule."""
    front, before, end, after = rule
    return before + word[front : len(word) - end] + after


def affix_features(word: str, tags: tuple[str, ...]) -> list[str]:
    """Return the tags of a word, its prefixes and suffixes, and pairs of tags and affixes."""
    pieces = [f"…{word[-n:]}" for n in range(1, 6)] + [f"{word[:n]}…" for n in range(1, 4)]
    every = "+".join(tags)
    return [*tags, every, *pieces, *(f"{every} {piece}" for piece in pieces)]


def predict_by_rules(
    X: np.ndarray, tags: np.ndarray, y: np.ndarray, X_new: np.ndarray, tags_new: np.ndarray
) -> list[str]:
    """Return forms of new words by a linear SVM whose classes are rules for the ends."""
    rules = [rule_of(word, form) for word, form in zip(X, y, strict=True)]
    number = {rule: i for i, rule in enumerate(dict.fromkeys(rules))}
    folds = KFold(3, shuffle=True, random_state=0)
    grid = {"linearsvc__C": [0.03, 0.1, 0.3]}
    search = GridSearchCV(
        make_pipeline(CountVectorizer(analyzer=list), LinearSVC()), grid, cv=folds
    )
    search.fit(
        [affix_features(*pair) for pair in zip(X, tags, strict=True)], [number[r] for r in rules]
    )
    known = list(number)
    best = search.predict([affix_features(*pair) for pair in zip(X_new, tags_new, strict=True)])
    return [apply_rule(word, known[c]) for word, c in zip(X_new, best, strict=True)]


def predict_by_nearest(X: np.ndarray, y: np.ndarray, X_new: np.ndarray) -> np.ndarray:
    """Return the output of the training input with the most similar character n-grams."""
    pieces = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 4)).fit(map(str, X))
    search = NearestNeighbors(n_neighbors=1, metric="cosine").fit(pieces.transform(map(str, X)))
    near = search.kneighbors(pieces.transform(map(str, X_new)), return_distance=False)
    return y[near[:, 0]]


def main() -> None:
    """Print exact matches of the baselines in the settings of docs/transduction.md."""
    for language in ("german", "turkish"):
        (X, tags, y), (X_new, tags_new, y_new) = (
            load_inflection(language, part) for part in ("train", "dev")
        )
        print(
            language,
            RULES,
            exact_match(y_new, predict_by_rules(X, tags, y, X_new, tags_new)),
            flush=True,
        )
    X, y, X_new, y_new = load_transliteration()
    order = np.random.default_rng(0).permutation(len(X))[:5000]
    print(
        "names",
        NEAREST,
        exact_match(y_new, predict_by_nearest(X[order], y[order], X_new)),
        flush=True,
    )
    for stress in (False, True):
        X, y = load_cmudict(stress=stress)
        order = np.random.default_rng(0).permutation(len(X))
        train, test = order[2000:7000], order[:2000]
        predicted = predict_by_nearest(X[train], y[train], X[test])
        print("CMUdict", stress, NEAREST, exact_match(y[test], predicted), flush=True)


if __name__ == "__main__":
    main()
