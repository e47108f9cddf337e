"""`privfit export`: write a model for programs that do not have privfit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privfit.cli.files import check_outputs, replacing
from privfit.cli.guard import Mistake
from privfit.cli.options import Json, Model
from privfit.cli.output import show, waiting
from privfit.cli.tables import read_model


def export(
    model: Model,
    numpy: Annotated[
        Path | None,
        typer.Option("--numpy", help="Write a Python file that needs only NumPy.", dir_okay=False),
    ] = None,
    onnx: Annotated[Path | None, typer.Option("--onnx", help="Write an ONNX graph.", dir_okay=False)] = None,
    skops: Annotated[
        Path | None, typer.Option("--skops", help="Write a scikit-learn model with skops.", dir_okay=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a model for programs that do not have privfit.

    The written model makes the same predictions. It clips features in the same way, too.

    Example: privfit export model.json --numpy scorer.py
    """
    wanted = {name: path for name, path in (("numpy", numpy), ("onnx", onnx), ("skops", skops)) if path}
    if not wanted:
        raise Mistake("Say what to write: --numpy FILE, --onnx FILE or --skops FILE.")
    check_outputs(*wanted.values(), inputs=(model,))
    fitted = read_model(model)
    with waiting("Converting"):
        from privfit.publication.numpy_file import write_numpy
        from privfit.publication.onnx import to_onnx

        graph = to_onnx(fitted.published()) if onnx else b""
        if skops:
            try:
                import skops.io as stored
            except ModuleNotFoundError:
                raise Mistake(
                    "skops is not installed; install it with: pip install 'privfit[export]'"
                ) from None
            with replacing(skops) as file:
                stored.dump(fitted.to_sklearn(), file)
        if onnx:
            with replacing(onnx) as file:
                file.write_bytes(graph)
        if numpy:
            with replacing(numpy) as file:
                write_numpy(fitted.published(), file)
    written = {name: str(path) for name, path in wanted.items()}
    show(written, "\n".join(f"Wrote {path} ({name})." for name, path in written.items()), as_json=as_json)
