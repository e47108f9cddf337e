"""Lines of Markdown: prose ends at 100 characters. `python tests/markdown_lines.py` breaks what is longer.

Tables, code, links that cannot be broken and headings are left as they are.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

LONGEST = 100
ROOT = Path(__file__).parents[1]
_FENCE = re.compile(r"^\s*(```|~~~)")
_ITEM = re.compile(r"^(\s*)([-*+]|\d+[.)])(\s+)")
_APART = re.compile(r"^\s*(\||#|<|>|$)")  # tables, headings, HTML, quotations, nothing
_TURNS_INTO_SOMETHING = re.compile(r"^\s*([-*+#>=]|\d+[.)])(\s|$)|^\s*[=-]+\s*$|^\s*\|")


def pages() -> list[Path]:
    """Return every page that people read."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("results/*.md")])


def too_long(text: str) -> Iterator[tuple[int, str]]:
    """Return the lines of prose that could be broken before they become too long."""
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        if _FENCE.match(line):
            fenced = not fenced
        indent = _ITEM.match(line)
        start = indent.end() if indent else len(line) - len(line.lstrip())
        breakable = " " in line[start:LONGEST].strip()
        if len(line) > LONGEST and not fenced and not _APART.match(line) and breakable:
            yield number, line


def broken(text: str) -> str:
    """Break the paragraphs that have such a line, and leave the others as they are."""
    done: list[str] = []
    for paragraph in _paragraphs(text.splitlines()):
        long = any(True for _ in too_long("\n".join(paragraph))) and not _FENCE.match(paragraph[0])
        hard = any(line.endswith(("  ", "\\")) for line in paragraph[:-1])
        done += _wrapped(paragraph) if long and not hard else paragraph
    return "\n".join(done) + "\n"


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    """Divide a page: a fence with its content, a line that stands apart, an item, a run of prose."""
    current: list[str] = []
    fenced = False
    for line in lines:
        if _FENCE.match(line) and not fenced:
            if current:
                yield current
            current, fenced = [line], True
        elif fenced:
            current.append(line)
            if _FENCE.match(line):
                yield current
                current, fenced = [], False
        elif _APART.match(line) or _ITEM.match(line) or (current and _APART.match(current[-1])):
            if current:
                yield current
            current = [line]
        else:
            current.append(line)
    if current:
        yield current


def _wrapped(paragraph: list[str]) -> list[str]:
    item = _ITEM.match(paragraph[0])
    first = item[0] if item else re.match(r"\s*", paragraph[0])[0]  # type: ignore[index]
    rest = " " * len(first)
    words = " ".join([paragraph[0][len(first) :], *(line.strip() for line in paragraph[1:])])
    for width in range(LONGEST - 1, 60, -1):  # until no line begins with what means something else
        lines = textwrap.wrap(
            words,
            width,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
        if not any(_TURNS_INTO_SOMETHING.match(line) for line in lines[1:]):
            return lines
    return paragraph


if __name__ == "__main__":
    for page in pages():
        old = page.read_text(encoding="utf-8")
        new = broken(old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(page.relative_to(ROOT))
