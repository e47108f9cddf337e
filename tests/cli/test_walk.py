"""The walk of docs/command-line.md, as a reader types it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_help import COMMANDS

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_walk_from_a_csv_to_a_published_model(tmp_path):
    """Run every block in order; the one in TOML is what the reader fills in."""
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "privfit").write_text(f'#!/bin/sh\nexec {sys.executable} -m privfit "$@"\n')
    (commands / "privfit").chmod(0o755)
    desk = tmp_path / "desk"
    desk.mkdir()
    environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}
    blocks = re.findall(r"^```(sh|toml)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for language, text in blocks:
        if language == "toml":
            (desk / "schema.toml").write_text(text)
            continue
        done = subprocess.run(
            ["bash", "-e", "-c", text], cwd=desk, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (text, done.stdout, done.stderr)
    for name in ("model.json", "scores.json", "card.html", "scorer.py", "predictions.csv"):
        assert (desk / name).stat().st_size > 0


def test_the_page_walks_through_every_command():
    walked = set(
        re.findall(r"^privfit ([a-z]+(?: (?:draft|check|open|status|log|verify))?)", PAGE, re.MULTILINE)
    )
    described = {"demo", "audit", "convert", "reproduce", "ledger change", "ledger migrate"}
    assert walked == set(COMMANDS) - described
    for name in described:
        assert f"`privfit {name}" in PAGE


def test_the_page_documents_the_exit_codes_of_the_help():
    from privfit.cli.guard import EXIT_CODES

    assert re.findall(r"\b(\d+) ", EXIT_CODES) == re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)
