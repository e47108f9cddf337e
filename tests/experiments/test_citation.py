import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_version_to_cite_is_the_packages():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1] == version
