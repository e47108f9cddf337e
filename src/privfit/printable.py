"""Names and texts of strangers, shown so that nothing in them acts on a terminal or hides from its reader."""

from __future__ import annotations

_JOINERS = "\u200c\u200d"  # invisible, but Persian and many emoji are written with them


def printable(text: str) -> str:
    r"""Return one line of text in which control characters are written as escapes.

    Terminals obey some characters instead of showing them: they change colours, clear the screen, begin new
    lines or turn the direction of writing. Those characters stand for themselves no longer.

    Parameters
    ----------
    text : str
        Any text: the name of a column or file, for example.

    Returns
    -------
    line : str
        The same text if all its characters can be seen.

    Examples
    --------
    >>> printable("Zürich"), printable("red\x1b[31m\n")
    ('Zürich', 'red\\x1b[31m\\n')
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _JOINERS else repr(c)[1:-1] for c in text)
