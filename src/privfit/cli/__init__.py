"""The command line: parse, call, print.

There is one file for each command. A file imports only what parsing needs. The function of a command imports
the rest, so that help does not wait for NumPy.
"""

from typing import Annotated

import typer

import privfit
from privfit.cli.audit import audit
from privfit.cli.convert import convert
from privfit.cli.demo import demo
from privfit.cli.evaluate import evaluate
from privfit.cli.evidence import evidence
from privfit.cli.explain import explain
from privfit.cli.export import export
from privfit.cli.guard import EXIT_CODES, GuardedGroup
from privfit.cli.ledger import ledger
from privfit.cli.plan import plan
from privfit.cli.predict import predict
from privfit.cli.renamed import current_name
from privfit.cli.report import report
from privfit.cli.reproduce import reproduce
from privfit.cli.schema import schema
from privfit.cli.teaching import TaughtCommand
from privfit.cli.train import train
from privfit.cli.tune import tune
from privfit.cli.verify import verify

app = typer.Typer(
    cls=GuardedGroup,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain text is the same on every terminal, and a sentence is not cut to fit a box
    pretty_exceptions_enable=False,  # they print local variables, which may be records
    context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": current_name},
)
# in the order in which they are used
app.command(cls=TaughtCommand)(demo)
app.command(cls=TaughtCommand)(plan)
app.add_typer(schema, name="schema")
app.add_typer(ledger, name="ledger")
for command in (
    train,
    tune,
    evaluate,
    explain,
    report,
    export,
    predict,
    convert,
    audit,
    evidence,
    verify,
    reproduce,
):
    app.command(cls=TaughtCommand)(command)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"privfit {privfit.__version__}")
        raise typer.Exit


@app.callback(help=privfit.__doc__, epilog=EXIT_CODES)
def privfit_command(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Take the options that are no command's."""
