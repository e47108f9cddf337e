# ruff: noqa: RUF001 because letters that look like others are what this file is about
"""Names of data sets that people can mistake for one another.

Each name has its own ledger, with a privacy budget of its own. So a new name must not differ from an existing
one in a way that readers do not see. The comparison ignores differences between characters that are equal in
Unicode's form NFKC, case, spaces, invisible characters, kinds of dashes, and letters of other alphabets that
look like Latin ones. The table of letters is short and does not hold all that Unicode lists: names that
differ in rn and m, for example, count as different.
"""

from __future__ import annotations

import unicodedata

# Letters that look like Latin ones. Capitals have entries of their own: Greek nu looks like v, its capital
# like N.
_LATIN = {
    "a": "аαɑ",
    "b": "вьβ",
    "c": "сϲⅽ",
    "d": "ԁⅾ",
    "e": "еεҽ",
    "g": "ɡց",
    "h": "һнհ",
    "j": "јϳ",
    "k": "кκ",
    "l": "1i|ıɩιіӏǀIІΙӀ",
    "m": "мⅿ",
    "n": "пηո",
    "o": "0оοσօ",
    "p": "рρ",
    "q": "ԛգ",
    "r": "г",
    "s": "ѕ",
    "t": "тτ",
    "u": "υս",
    "v": "ѵν",
    "w": "ԝωѡ",
    "x": "хχ",
    "y": "уүγ",
    "z": "ᴢ",
    "A": "АΑ",
    "B": "ВΒ",
    "C": "СϹ",
    "E": "ЕΕ",
    "H": "НΗ",
    "J": "ЈͿ",
    "K": "КΚ",
    "M": "МΜ",
    "N": "Ν",
    "O": "ОΟՕ",
    "P": "РΡ",
    "S": "ЅՏ",
    "T": "ТΤ",
    "U": "Ս",
    "X": "ХΧ",
    "Y": "УҮΥ",
    "Z": "Ζ",
}
_LOOKS = {ord(other): latin for latin, others in _LATIN.items() for other in others}
# Printable characters that are invisible: joiners, fillers, variation selectors and a musical note without a
# head. The Braille pattern without dots looks like a space.
_INVISIBLE: dict[int, str | None] = {
    **dict.fromkeys([0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x1D159]),
    **dict.fromkeys([*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]),
    0x2800: " ",
}


def look_alike(first: str, second: str) -> bool:
    """Return whether two names differ at most by case, spaces or characters that look alike.

    Parameters
    ----------
    first, second : str
        The names.

    Returns
    -------
    alike : bool
        Whether a reader may mistake one name for the other.

    Examples
    --------
    >>> look_alike("census-2026", " Census\N{EN DASH}2O26")
    True
    >>> look_alike("census-2026", "census-2027")
    False
    """
    return not _looks(first).isdisjoint(_looks(second))


def _looks(name: str) -> set[str]:
    """Return the looks of a name: as written, in small letters and in capitals, each case-folded."""
    plain = unicodedata.normalize("NFKC", name).translate(_INVISIBLE)
    plain = "".join(
        "-" if unicodedata.category(letter) == "Pd" or letter == "−" else letter for letter in plain
    )
    plain = " ".join(plain.split())
    written = (plain, plain.casefold(), plain.upper())
    return {text.translate(_LOOKS).casefold().translate(_LOOKS) for text in written}
