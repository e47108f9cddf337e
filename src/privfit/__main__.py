"""Run the command line: `python -m privfit` does the same as `privfit`."""

from privfit.cli import app

if __name__ == "__main__":
    app(prog_name="privfit")
