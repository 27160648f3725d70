"""Fits the calibration of the offline model to questions and passages, and plots its ROC for docs/calibration.md.

python -m bench.calibration DATA

DATA contains a folder for each set, with corpus.jsonl ({id, text}), queries.jsonl ({id, text, references}) and
qrels.tsv (query, document, grade). A question and a passage that answers it are related; the same question and a
passage of another document are not. It also measures how half precision in the cache changes the ten nearest.
"""

import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.sets import lines
from findspot.embedding.calibration import Calibration
from findspot.embedding.fitting import fit, roc
from findspot.embedding.offline import OfflineEmbedder

SETS = (
    "beir_scifact",
    "squad2_dev_articles",
    "anthropic_contextual_code",
    "zh_cmrc_packed",
    "zh_tidb_faq",
    "zh_stard_laws",
)
PLOT = Path(__file__).parent.parent / "docs" / "calibration.svg"
PAIRS = 600
CHUNK = 800

Cosines = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pairs:
    name: str
    related: Cosines
    unrelated: Cosines


def main(data: Path) -> None:
    embedder = OfflineEmbedder()
    found = [_pairs(data / name, embedder) for name in SETS]
    shipped = embedder.calibration
    for each in found:
        print(_row(each.name, each, shipped))
    everything = Pairs(
        "all", *(np.concatenate([getattr(each, kind) for each in found]) for kind in ("related", "unrelated"))
    )
    print(_row("all", everything, shipped))
    fitted = fit(everything.related, everything.unrelated)
    print(f"fitted to these: {fitted.calibration}, of which {fitted.related_over:.0%} and {fitted.unrelated_under:.0%}")
    _draw([*found, everything], shipped)
    print(f"half precision: {_half_precision(data / 'beir_scifact', embedder):.4f} of the ten nearest are the same")


def _row(name: str, pairs: Pairs, calibration: Calibration) -> str:
    over = np.mean(calibration.scores(pairs.related) >= 0.7)
    under = np.mean(calibration.scores(pairs.unrelated) < 0.3)
    area = fit(pairs.related, pairs.unrelated).auc
    return f"| {name} | {len(pairs.related)} | {area:.3f} | {over:.0%} | {under:.0%} |"


def _pairs(folder: Path, embedder: OfflineEmbedder) -> Pairs:
    chooser = random.Random(1)
    texts = {each["id"]: each["text"] for each in lines(folder / "corpus.jsonl")}
    asked = list(lines(folder / "queries.jsonl"))
    answers = dict(
        line.split("\t")[:2] for line in (folder / "qrels.tsv").read_text(encoding="utf-8").split("\n") if line
    )
    asked = [each for each in chooser.sample(asked, min(PAIRS, len(asked))) if answers.get(each["id"]) in texts]
    related = [_answer(each, texts[answers[each["id"]]]) for each in asked]
    unrelated = [_random_passage(chooser, texts, answers[each["id"]]) for each in asked]
    questions = embedder.documents([each["text"] for each in asked])
    cosines = [(questions * embedder.documents(some)).sum(axis=1).astype(np.float64) for some in (related, unrelated)]
    return Pairs(folder.name, *cosines)


def _answer(question: dict[str, Any], text: str) -> str:
    """Return the passage around the answer, or the beginning if the whole document is the answer."""
    places = question.get("references")
    if not places:
        return text[:CHUNK]
    middle = (places[0]["start"] + places[0]["end"]) // 2
    return text[max(0, middle - CHUNK // 2) :][:CHUNK]


def _random_passage(chooser: random.Random, texts: dict[str, str], other_than: str) -> str:
    text = texts[chooser.choice([name for name in texts if name != other_than])]
    at = chooser.randrange(max(1, len(text) - CHUNK))
    return text[at : at + CHUNK]


def _draw(found: list[Pairs], calibration: Calibration) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "findspot"
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for each in found:
        bold = each.name == "all"
        left.plot(
            *roc(each.related, each.unrelated), label=each.name, lw=2.5 if bold else 1, color="k" if bold else None
        )
    left.set(
        xlabel="unrelated pairs that pass", ylabel="related pairs that pass", title="ROC", xlim=(0, 1), ylim=(0, 1.01)
    )
    left.legend(fontsize=7)
    steps = np.linspace(0, 1, 41)
    right.hist(calibration.scores(found[-1].unrelated), steps, alpha=0.6, label="unrelated")
    right.hist(calibration.scores(found[-1].related), steps, alpha=0.6, label="related")
    for limit in (0.3, 0.7):
        right.axvline(limit, color="k", lw=0.8, ls=":")
    right.set(xlabel="score", ylabel="pairs", title="scores of all pairs")
    right.legend(fontsize=8)
    figure.savefig(PLOT, metadata={"Date": None})


def _half_precision(folder: Path, embedder: OfflineEmbedder) -> float:
    """Return the share of the ten nearest documents that stay the same when vectors are stored as float16."""
    vectors = embedder.documents([each["text"] for each in lines(folder / "corpus.jsonl")])
    questions = embedder.documents([each["text"] for each in lines(folder / "queries.jsonl")])
    full, half = (
        np.argsort(-(questions @ each.T), axis=1)[:, :10]
        for each in (vectors, vectors.astype(np.float16).astype(np.float32))
    )
    return float(
        np.mean([len(set(one) & set(two)) / 10 for one, two in zip(full.tolist(), half.tolist(), strict=True)])
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
