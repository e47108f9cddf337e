import re

from typer.testing import CliRunner

from privfit.cli import app

# settings and calls as Python writes them, its modules and its constants; --try takes name=value
PYTHON = re.compile(
    r"(?<!--try )\b[A-Za-z_]\w*=|\bprivfit\.[a-z_]+\b(?!\.)|\w\(\)|\w\([^)]*=|\.[a-z_]+\("
    r"|\b(?:None|True|False)\b|\b(?:numpy|np|pandas|polars)\.\w"
)


def privfit(*arguments, code=0, typed=None):
    """Run a command in this process, with `typed` for standard input, and return what it printed."""
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(app, words, input=typed, env={"COLUMNS": "100"})
    assert result.exit_code == code, (arguments, result.output, result.exception)
    for stream in (result.stderr, "" if "--json" in words else result.stdout):
        assert not PYTHON.search(stream), (arguments, PYTHON.search(stream), stream)
    return result
