"""Strategies that damage what is right: texts, JSON documents and bytes, near enough to be read half-way."""

from __future__ import annotations

import copy
import math
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import strategies as st

SECRET = "Zaphod7319"  # stands in cells of records, and may stand nowhere else
SECONDS = 20  # after which a case is said to hang

numbers = st.sampled_from(
    [0, -1, 1, 2, 2**31, 2**63, 10**40, -0.0, 1e-320, 1e308, math.inf, -math.inf, math.nan]
)
texts = st.text(max_size=6) | st.sampled_from(
    [
        "",
        "\0",
        "\x1b[2J",
        "\u202e",
        "\ud800",
        "é",
        "numeric",
        "true",
        "0",
        "1e999",
        "-",
        "a" * 3000,
        "{",
        "../x",
    ]
)
plain = st.none() | st.booleans() | numbers | texts | st.integers() | st.floats()
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=4
)
PIECES = (
    "[", "]", "[[", "{", "}", "=", '"', "'", "\n", "\t", ",", ".", "#", "\0", "\ufeff", "nan", "inf", "1e999",
    "-", "true", "[label]", "[[columns]]", "type", "name", "low", "high", "1979-05-27", "0x", "\\u", "é",
    SECRET,
)  # fmt: skip


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside a document of lists and dicts."""
    inside = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document)
        if isinstance(document, list)
        else ()
    )
    for key, value in inside:
        yield (*path, key)
        yield from places(value, (*path, key))


@st.composite
def damaged_documents(draw: Any, document: Any) -> Any:
    """Replace, remove, rename or repeat one to three values of a document."""
    changed = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        known = list(places(changed))
        if not known:
            return draw(values)
        *path, key = draw(st.sampled_from(known))
        holder = changed
        for step in path:
            holder = holder[step]
        match draw(st.sampled_from(["replace", "replace", "remove", "rename", "repeat"])):
            case "replace":
                holder[key] = draw(values)
            case "remove":
                del holder[key]
            case "rename" if isinstance(holder, dict):
                holder[draw(texts)] = holder.pop(key)
            case _ if isinstance(holder, list):
                holder.insert(draw(st.integers(0, len(holder))), copy.deepcopy(holder[key]))
    return changed


@st.composite
def damaged_texts(draw: Any, text: str) -> str:
    """Cut pieces out of a text, repeat them elsewhere, and put others in."""
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, len(text)))
        last = draw(st.integers(first, min(len(text), first + 40)))
        piece = draw(st.sampled_from(PIECES) | texts | st.just(text[first:last]))
        where = draw(st.integers(0, len(text)))
        text = text[:first] + text[last:] if draw(st.booleans()) else text[:where] + piece + text[where:]
    return text


@st.composite
def damaged_bytes(draw: Any, content: bytes) -> bytes:
    """Change some bytes, or cut the end off."""
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 6))):
        changed[draw(st.integers(0, len(changed) - 1))] = draw(st.integers(0, 255))
    end = draw(st.just(len(changed)) | st.integers(0, len(changed)))
    return bytes(changed[:end])


@contextmanager
def at_most(seconds: int = SECONDS) -> Iterator[None]:
    """Fail if something computes for longer: it hangs. Time that others have the machine does not count."""

    def stop(*_: Any) -> None:
        raise AssertionError(f"no end after {seconds} seconds")

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def assert_one_sentence(refusal: BaseException, *, of_records: bool = True) -> None:
    """Require a message that a terminal can show and that quotes no cell of a record."""
    said = str(refusal)
    assert said
    assert said.isprintable(), repr(said)
    assert len(said) < 7000
    assert not (of_records and SECRET in "".join(traceback.format_exception(refusal)))
