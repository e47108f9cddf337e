"""Hooks that add files of the repository, and the help of every command, to the documentation site."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
BESIDE_DOCS = (
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "examples/*.ipynb",
    "results/*.csv",
    "results/*.md",
    "results/*.png",
    "results/*.svg",
    "results/*.txt",
)
PICTURE = re.compile(r'<p><img alt="([^"]*)" src="(?:\.\./)*pictures/([\w-]+\.svg)" ?/?></p>')
ASKS_ELSEWHERE = re.compile(
    r"<script(?:(?!</script>).)*?(?:mathjax|mermaid).*?</script>", re.DOTALL | re.IGNORECASE
)
LINK = re.compile(r"(\]\()(?!https?:|#)([^)#\s]+)")
HELPS = "<!-- the help of every command -->"


@event_priority(100)  # before the plugins, because one of them looks for notebooks among the files
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files beside docs/ at their places in the repository."""
    for pattern in BESIDE_DOCS:
        for path in sorted(ROOT.glob(pattern)):
            where = path.relative_to(ROOT).as_posix()
            files.append(File(where, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Change links between files of the repository into links of the site; insert the help of commands."""
    folder = os.path.dirname(str(page.file.abs_src_path))

    def moved(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(os.path.join(folder, link[2])))
        if not target.is_relative_to(ROOT):
            return link[0]
        place = target.relative_to(ROOT).as_posix().removeprefix("docs/")
        return link[1] + posixpath.relpath(place, posixpath.dirname(page.file.src_uri) or ".")

    markdown = LINK.sub(moved, markdown)
    if HELPS in markdown:
        sections = (f"## {name}\n\n```text\n{text}\n```\n" for name, text in helps())
        markdown = markdown.replace(HELPS, "\n".join(sections))
    return markdown


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert charts into the page, so that they follow light and dark mode; remove scripts of other sites.

    Drawings by matplotlib stay images, because their styles are for a whole document. Notebooks include
    scripts that would download libraries for formulas and diagrams, which these notebooks do not have.
    """

    def drawn(image: re.Match[str]) -> str:
        svg = (ROOT / "docs" / "pictures" / image[2]).read_text(encoding="utf-8")
        if not svg.startswith("<svg"):
            return image[0]
        return f'<figure class="picture" role="img" aria-label="{image[1]}">{svg}</figure>'

    return PICTURE.sub(drawn, ASKS_ELSEWHERE.sub("", html))


def helps() -> Iterator[tuple[str, str]]:
    """Return every command with its help; groups come before their commands."""
    import typer

    from privfit.cli import app

    yield from _helps(typer.main.get_command(app), None, "privfit")


def _helps(command: Any, parent: Any, name: str) -> Iterator[tuple[str, str]]:
    context = command.make_context(
        name, [], parent=parent, resilient_parsing=True, terminal_width=88, max_content_width=88
    )
    context.info_name = name.rsplit(" ", 1)[-1]
    yield name, command.get_help(context)
    for inner in getattr(command, "commands", {}).values():
        if not inner.hidden:
            yield from _helps(inner, context, f"{name} {inner.name}")
