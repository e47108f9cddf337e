"""`privfit export`: a model for places that do not have privfit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privfit.cli.guard import Mistake
from privfit.cli.options import Json, Model, writable
from privfit.cli.output import show


def export(
    model: Model,
    numpy: Annotated[
        Path | None, typer.Option("--numpy", help="A Python file that needs NumPy only.", dir_okay=False)
    ] = None,
    onnx: Annotated[Path | None, typer.Option("--onnx", help="An ONNX graph.", dir_okay=False)] = None,
    skops: Annotated[
        Path | None, typer.Option("--skops", help="Plain scikit-learn, stored by skops.", dir_okay=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a model for other programs; each predicts the same, clipping included.

    Example: privfit export model.json --numpy scorer.py
    """
    wanted = {name: path for name, path in (("numpy", numpy), ("onnx", onnx), ("skops", skops)) if path}
    if not wanted:
        raise Mistake("Say what to write: --numpy FILE, --onnx FILE or --skops FILE.")
    from privfit import load
    from privfit.publication.numpy_file import write_numpy
    from privfit.publication.onnx import to_onnx

    fitted = load(model)
    for path in wanted.values():
        writable(path)
    if numpy:
        write_numpy(fitted.published(), numpy)
    if onnx:
        onnx.write_bytes(to_onnx(fitted.published()))
    if skops:
        try:
            import skops.io as stored
        except ModuleNotFoundError:
            raise Mistake("skops is not installed; install it with: pip install 'privfit[export]'") from None
        stored.dump(fitted.to_sklearn(), skops)
    written = {name: str(path) for name, path in wanted.items()}
    show(written, "\n".join(f"Wrote {path} ({name})." for name, path in written.items()), as_json=as_json)
