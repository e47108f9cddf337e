"""Examples in help texts, on lines of their own, so that they can be copied into a shell."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

EXAMPLE = "Example: "
_WIDTH = 74  # of a line of help, which is indented


class TaughtCommand(TyperCommand):
    """A command whose docstring ends in a paragraph "Example: privfit ..."."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        settings["help"] = with_example(settings.get("help") or "")
        super().__init__(*args, **settings)


def with_example(text: str) -> str:
    """Put the example of a help text on separate lines that the formatter does not change."""
    paragraphs = text.split("\n\n")
    for i, paragraph in enumerate(paragraphs):
        if paragraph.startswith(EXAMPLE):
            command = " ".join(paragraph.removeprefix(EXAMPLE).split())
            paragraphs[i] = f"\b\n{EXAMPLE.strip()}\n  {_broken(command)}"
    return "\n\n".join(paragraphs)


def _broken(command: str) -> str:
    """Break a command between its options; each line but the last ends with a backslash."""
    first, *options = re.split(r" (?=--|> )", command)
    lines = [first]
    for option in options:
        if len(lines[-1]) + len(option) < _WIDTH:
            lines[-1] += f" {option}"
        else:
            lines.append(option)
    return " \\\n      ".join(lines)
