"""`python -m privfit` is `privfit`."""

from privfit.cli import app

if __name__ == "__main__":
    app(prog_name="privfit")
