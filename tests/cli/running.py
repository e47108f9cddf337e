from typer.testing import CliRunner

from privfit.cli import app


def privfit(*arguments, code=0):
    """Run a command in this process and return what it printed."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "100"})
    assert result.exit_code == code, (arguments, result.output, result.exception)
    return result
