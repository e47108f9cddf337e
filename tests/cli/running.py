from typer.testing import CliRunner

from privfit.cli import app


def privfit(*arguments, code=0, typed=None):
    """Run a command in this process, with `typed` for standard input, and return what it printed."""
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(app, words, input=typed, env={"COLUMNS": "100"})
    assert result.exit_code == code, (arguments, result.output, result.exception)
    return result
