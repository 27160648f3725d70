"""`findspot calibrate`: fit the scores of an embedder to pairs of texts, so that 0.7 means related."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from findspot.surfaces.cli.failure import Failure
from findspot.surfaces.cli.opening import read_settings
from findspot.surfaces.cli.printing import show

if TYPE_CHECKING:
    from findspot.embedding.fitting import Fit
    from findspot.settings import Settings

_LINE_FORMAT = 'Each line must be {"a": "text", "b": "text", "related": true}, or false.'


@click.command()
@click.argument("file", metavar="PAIRS.jsonl", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(file: Path, as_json: bool) -> None:
    """Calibrate the scores of the configured embedder with pairs of texts.

    Each line of the file is a pair: {"a": "text", "b": "text", "related": true}, or false. A few hundred of each kind
    are enough. 'a' is embedded as a query and 'b' as a passage. Set FINDSPOT_EMBEDDER_CALIBRATION to the printed value.
    """
    pairs = list(_pairs(file))
    settings = read_settings()
    fit = _fit(settings, pairs)
    value = {
        **asdict(fit),
        "embedder": settings.embedder,
        "setting": f"FINDSPOT_EMBEDDER_CALIBRATION={fit.calibration}",
    }
    show(value, as_json, _report(fit, settings.embedder))


def _pairs(file: Path) -> Iterator[tuple[str, str, bool]]:
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise Failure(f"{file} cannot be read: {error.strerror}.", exit_code=2) from None
    except UnicodeDecodeError as error:
        raise Failure(f"{file} is not UTF-8 (byte {error.start}).", exit_code=2) from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _pair(line, f"{file}, line {number}")


def _pair(line: str, where: str) -> tuple[str, str, bool]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise Failure(f"{where} is not JSON: {error.msg}.", _LINE_FORMAT, 2) from None
    match value:
        case {"a": str(first), "b": str(second), "related": bool(related)} if first.strip() and second.strip():
            return first, second, related
    raise Failure(f"{where} is not a pair of texts.", _LINE_FORMAT, 2)


def _fit(settings: "Settings", pairs: list[tuple[str, str, bool]]) -> "Fit":
    import numpy as np

    from findspot.embedding.fitting import fit
    from findspot.errors import FindspotError
    from findspot.runtime.embedders import open_embedder

    embedder = open_embedder(settings)
    try:
        first = np.stack([embedder.query(text) for text, _, _ in pairs]) if pairs else np.zeros((0, 1))
        second = embedder.documents([text for _, text, _ in pairs]) if pairs else np.zeros((0, 1))
        cosines, related = (first * second).sum(axis=1), np.array([each for _, _, each in pairs], bool)
        return fit(cosines[related], cosines[~related])
    except FindspotError as error:
        raise Failure(error.message, error.kind.advice, 7) from None
    except ValueError as error:
        raise Failure(f"The scores cannot be calibrated: {error}.", exit_code=2) from None
    finally:
        embedder.close()


def _report(fit: "Fit", embedder: str) -> str:
    return "\n".join(
        (
            f"{embedder}: {fit.related} related and {fit.unrelated} unrelated pairs",
            f"  a, b                          {fit.calibration.a:.4g}, {fit.calibration.b:.4g}",
            f"  AUC                           {fit.auc:.3f}",
            f"  related pairs at 0.7 or over  {fit.related_over:.0%}",
            f"  unrelated pairs under 0.3     {fit.unrelated_under:.0%}",
            "",
            "To use it, set this and restart the server; no index has to be rebuilt:",
            f"  FINDSPOT_EMBEDDER_CALIBRATION={fit.calibration}",
        )
    )
