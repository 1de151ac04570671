"""Trains the forests of libs/main-content/src/block-model.data.ts from labelled pages.

    npm run quality:train       (or, with the packages of requirements.txt, after `npm run build`:)
    python test/quality/train_blocks.py DATA_DIR WORK_DIR

Five parts by site: WORK_DIR/fold-K.json holds the forests that never saw part K (for cross-validate.mjs), the data file
those trained on everything. The same pages give the same bytes: seeds and threads are fixed.
"""
import argparse
import base64
import hashlib
import json
import pathlib
import subprocess
from collections import Counter

import numpy as np
from catboost import CatBoost, Pool

from block_labels import NONE, from_segments, from_text

HERE = pathlib.Path(__file__).parent
MODEL = HERE / "../../libs/main-content/src/block-model.data.ts"
FOLDS = 5
# What a page of each set weighs; pages with labels made by another tool weigh less.
SET_WEIGHT = {"wcxb": 1.0, "aeb": 1.5, "traf": 0.7, "moz": 0.4, "defuddle": 0.3}
# Symmetric trees, grown from few cuts and samples: there are few pages, and each brings many rows.
COMMON = dict(
    bootstrap_type="Bernoulli",
    leaf_estimation_iterations=1,
    border_count=32,
    thread_count=2,
    random_seed=1,
    allow_writing_files=False,
    verbose=False,
)
BLOCKS = dict(
    COMMON,
    loss_function="CrossEntropy",
    iterations=240,
    depth=4,
    learning_rate=0.17,
    l2_leaf_reg=8,
    subsample=0.5,
    rsm=0.25,
    random_strength=0.5,
)
TYPE = dict(
    COMMON,
    loss_function="Logloss",
    iterations=60,
    depth=3,
    learning_rate=0.12,
    l2_leaf_reg=3,
    subsample=0.6,
    rsm=0.3,
)
# The types of block-features.ts by the labels of the pages; sets without labels hold articles.
TYPES = {"article": "article", "forum": "forum", "collection": "list", "listing": "list", "product": "product"}
LABELLED = "wcxb"


def fold_of(site):
    return int(hashlib.sha1(site.encode()).hexdigest(), 16) % FOLDS


def dump(data, out):
    subprocess.run(["node", str(HERE / "dump-blocks.mjs"), str(data), str(out)], check=True)
    names = json.loads((out / "features.json").read_text())
    return names, np.fromfile(out / "rows.f32", "<f4").reshape(-1, len(names))


def read_pages(out):
    with open(out / "pages.jsonl", encoding="utf-8") as lines:
        pages = [json.loads(line) for line in lines]
    at = 0
    for page in pages:
        page["from"], at = at, at + len(page["blocks"])
        page["to"] = at
    return pages


def label(page):
    if page.get("text") is not None:
        return from_text(page["blocks"], page["text"])
    if page.get("markdown"):
        return from_text(page["blocks"], page["markdown"])
    return from_segments(page["blocks"], page.get("with"), page.get("without"))


def weigh(pages, labels):
    """Pages of a kind weigh alike, rare kinds more per page; within a page longer blocks weigh more."""
    kinds = Counter((page["dataset"], page["type"]) for page in pages)
    weights = np.zeros(len(labels))
    for page in pages:
        part = slice(page["from"], page["to"])
        known = labels[part] != NONE
        if not known.any():
            continue
        length = np.array([len(text.split()) for text in page["blocks"]])
        own = np.minimum(length, 15) + 5 if page["dataset"] == "traf" else length + 2
        own = np.where(known, own, 0)
        rarity = (60 / kinds[page["dataset"], page["type"]]) ** 0.5 if page["dataset"] == "wcxb" else 1
        weights[part] = own / own.sum() * SET_WEIGHT.get(page["dataset"], 0) * rarity
    return weights * len(weights) / weights.sum()


def fit(rows, labels, weights, parameters):
    known = weights > 0
    return CatBoost(parameters).fit(Pool(rows[known], labels[known], weight=weights[known]))


def fit_folds(rows, labels, weights, folds, parameters):
    """Forest per fold that has not seen it, and the estimates of each row by the one that has not seen it."""
    estimates = np.zeros(len(labels))
    models = []
    for fold in range(FOLDS):
        model = fit(rows, labels, np.where(folds == fold, 0, weights), parameters)
        estimates[folds == fold] = 1 / (1 + np.exp(-model.predict(rows[folds == fold], "RawFormulaVal")))
        models.append(model)
    return models, estimates


def fit_types(names, rows, pages):
    """Forests of the page types per fold and for all pages; fills their columns with estimates of unseen pages."""
    heads = np.array([page["features"] for page in pages], np.float32)
    parts = np.array([fold_of(page["site"]) for page in pages])
    columns = [i for i, name in enumerate(names) if name.startswith("type.")]
    types = [TYPES.get(page["type"]) if page["dataset"] == LABELLED else "article" for page in pages]
    weights = np.array([1.0 if page["dataset"] == LABELLED else 0.3 for page in pages])
    models, final = [[] for _ in range(FOLDS)], []
    for column in columns:
        wanted = np.array([kind == names[column].removeprefix("type.") for kind in types], float)
        own, estimates = fit_folds(heads, wanted, weights, parts, TYPE)
        for fold in range(FOLDS):
            models[fold].append(own[fold])
        final.append(fit(heads, wanted, weights, TYPE))
        for page, estimate in zip(pages, estimates):
            rows[page["from"] : page["to"], column] = estimate
        right = ((estimates > 0.5) == (wanted > 0.5))[weights == 1].mean()
        print(f"{names[column]}: {right:.3f} of the unseen labelled pages right", flush=True)
    return models, final


def pack(model, work):
    """The bytes that Forest in block-model.ts reads."""
    file = work / "forest.json"
    model.save_model(str(file), "json")
    dumped = json.loads(file.read_text())
    names = [feature["flat_feature_index"] for feature in dumped["features_info"]["float_features"]]
    trees = dumped["oblivious_trees"]
    depth = max(len(tree["splits"] or []) for tree in trees)
    scale, (bias,) = dumped["scale_and_bias"]
    leaves = np.zeros((len(trees), 1 << depth))
    thresholds = np.full((len(trees), depth), np.inf)
    features = np.zeros((len(trees), depth), int)
    for row, tree in enumerate(trees):
        leaves[row, : len(tree["leaf_values"])] = tree["leaf_values"]
        for level, split in enumerate(tree["splits"] or []):
            thresholds[row, level] = max(0.0, split["border"])
            features[row, level] = names[split["float_feature_index"]]
    unit = np.abs(leaves).max() / 32767
    parts = [(np.array([len(trees), depth]), "<i4"), (np.array([bias, unit * scale]), "<f4"), (thresholds, "<f4")]
    parts += [(np.rint(leaves / unit), "<i2"), (features, "<u2")]
    return base64.b64encode(b"".join(part.astype(kind).tobytes() for part, kind in parts)).decode()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--model", type=pathlib.Path, default=MODEL, help="data file to write")
    parser.add_argument("--labels-only", action="store_true", help="end with WORK_DIR/labels.f32: per block, -1 unknown")
    given = parser.parse_args()
    names, rows = dump(given.data, given.work)
    pages = read_pages(given.work)
    labels = np.concatenate([label(page) for page in pages])
    labels.astype("<f4").tofile(given.work / "labels.f32")
    if given.labels_only:
        return
    weights = weigh(pages, labels)
    folds = np.concatenate([np.full(len(page["blocks"]), fold_of(page["site"])) for page in pages])
    types, all_types = fit_types(names, rows, pages)
    models, estimates = fit_folds(rows, labels, weights, folds, BLOCKS)
    estimates.astype("<f4").tofile(given.work / "unseen.f32")
    for fold in range(FOLDS):
        ids = [page["id"] for page in pages if fold_of(page["site"]) == fold]
        unseen = {"ids": ids, "types": [pack(model, given.work) for model in types[fold]]}
        unseen["blocks"] = pack(models[fold], given.work)
        (given.work / f"fold-{fold}.json").write_text(json.dumps(unseen))
    blocks = pack(fit(rows, labels, weights, BLOCKS), given.work)
    page_types = "".join(f"  '{pack(model, given.work)}',\n" for model in all_types)
    given.model.write_text(
        "/** Generated by test/quality/train_blocks.py; see block-model.ts for the form. */\n"
        f"export const PAGE_TYPES: readonly string[] = [\n{page_types}];\n"
        f"export const BLOCKS =\n  '{blocks}';\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
