"""Simulated tasks from strings to strings: dates, names, units, number words, harmony, copying.

Each function draws n pairs of inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

import numpy as np

Pairs = tuple[list[str], list[str]]
MONTHS = "January February March April May June July August September October November December"
FORMATS = {
    "US": "{month} {d.day}, {d.year}",
    "British": "{d.day} {month} {d.year}",
    "dotted": "{d.day}.{d.month}.{d.year}",
}
FIRST = "Alan Ada Grace Kurt Emmy Alonzo Barbara Claude Donald Edsger Frances Haskell Noam Zoe Yuri"
LAST = "Tu ring Love lace Hop per Gö del Noe ther Chur ch Lis kov Shan non Knu th Al len Cur ry Mc"
UNITS = {"kilometres": "km", "metres": "m", "kilograms": "kg", "seconds": "s", "litres": "l"}
CURRENCIES = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}
ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety"
BACK, FRONT, NEUTRAL, CONSONANTS = "aou", "äöy", "ei", "hjklmnprstv"


def dates(n: int, rng: np.random.Generator, formats: tuple[str, ...]) -> Pairs:
    """Draw dates in the given formats, with the dates in ISO 8601 as outputs."""
    days = [date(1950, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 28_000, n)]
    chosen = rng.choice(formats, n)
    texts = [
        FORMATS[name].format(d=d, month=MONTHS.split()[d.month - 1])
        for d, name in zip(days, chosen, strict=True)
    ]
    return texts, [d.isoformat() for d in days]


def names(n: int, rng: np.random.Generator) -> Pairs:
    """Draw names such as "Turing, Alan", with "A. Turing" as output."""
    X, y = [], []
    for _ in range(n):
        last = "".join(rng.choice(LAST.split(), rng.integers(1, 4))).capitalize()
        first = list(rng.choice(FIRST.split(), 1 + (rng.random() < 0.3), replace=False))
        X.append(f"{last}, {' '.join(first)}")
        y.append(" ".join([*(f"{name[0]}." for name in first), last]))
    return X, y


def units(n: int, rng: np.random.Generator) -> Pairs:
    """Draw quantities such as "3.5 kilometres", with "km 3.5" as output."""
    numbers = [f"{rng.integers(0, 2000) / 10:g}" for _ in range(n)]
    names = rng.choice(list(UNITS), n)
    pairs = list(zip(numbers, names, strict=True))
    return [f"{a} {b}" for a, b in pairs], [f"{UNITS[b]} {a}" for a, b in pairs]


def money(n: int, rng: np.random.Generator) -> Pairs:
    """Draw amounts such as "EUR 12.50", with "12.50 €" as output."""
    amounts = [f"{rng.integers(1, 100_000) / 100:.2f}" for _ in range(n)]
    names = rng.choice(list(CURRENCIES), n)
    pairs = list(zip(names, amounts, strict=True))
    return [f"{a} {b}" for a, b in pairs], [f"{b} {CURRENCIES[a]}" for a, b in pairs]


def number_in_words(number: int) -> str:
    """Return a number below one million in words, such as "seven hundred nine"."""
    if number < 20:
        return ONES.split()[number]
    if number < 100:
        return TENS.split()[number // 10] + (
            f"-{number_in_words(number % 10)}" if number % 10 else ""
        )
    unit, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    rest = f" {number_in_words(number % unit)}" if number % unit else ""
    return f"{number_in_words(number // unit)} {name}{rest}"


def number_words(n: int, rng: np.random.Generator, below: int = 1000) -> Pairs:
    """Draw numbers in words, with their digits as outputs."""
    numbers = [int(i) for i in rng.integers(0, below, n)]
    return [number_in_words(i) for i in numbers], [str(i) for i in numbers]


def harmony(n: int, rng: np.random.Generator, neutral: tuple[int, int] = (0, 4)) -> Pairs:
    """Draw stems, with the suffix -na or -nä that their last non-neutral vowel requires."""
    X, y = [], []
    for _ in range(n):
        own = BACK if rng.integers(2) else FRONT
        vowels = [rng.choice(list(own)) for _ in range(rng.integers(1, 3))]
        vowels += [rng.choice(list(NEUTRAL)) for _ in range(rng.integers(*neutral))]
        closed = rng.choice(["", "", "s", "n", "l"], len(vowels))
        heads = rng.choice(list(CONSONANTS), len(vowels))
        X.append("".join(a + v + b for a, v, b in zip(heads, vowels, closed, strict=True)))
        y.append(X[-1] + ("na" if own == BACK else "nä"))
    return X, y


def copying(n: int, rng: np.random.Generator, letters: str = "abdegilmnorst") -> Pairs:
    """Draw words, with their plural as output: -es after s, else -s."""
    words = ["".join(rng.choice(list(letters), rng.integers(3, 8))) for _ in range(n)]
    return words, [word + ("es" if word[-1] == "s" else "s") for word in words]


def mixed_dates(n: int, rng: np.random.Generator) -> Pairs:
    """Draw dates in three formats, with the dates in ISO 8601 as outputs."""
    return dates(n, rng, tuple(FORMATS))


TASKS: dict[str, Callable[[int, np.random.Generator], Pairs]] = {
    "dates, US": lambda n, rng: dates(n, rng, ("US",)),
    "dates, British": lambda n, rng: dates(n, rng, ("British",)),
    "dates, dotted": lambda n, rng: dates(n, rng, ("dotted",)),
    "dates, three formats": mixed_dates,
    "names": names,
    "units": units,
    "money": money,
    "number words": number_words,
    "number words below 10,000": lambda n, rng: number_words(n, rng, 10_000),
    "harmony": harmony,
    "copying": copying,
}
"""What training and test pairs are drawn from."""
FARTHER: dict[str, Callable[[int, np.random.Generator], Pairs]] = {
    "harmony": lambda n, rng: harmony(n, rng, (4, 7)),
    "copying": lambda n, rng: copying(n, rng, "abdegilmnorstzçqwxñ"),
}
"""Harder test pairs of a task: longer distances, and letters that training words lack."""
