"""Trains the two forests of libs/content/src/block-model.data.ts from labelled pages.

    python test/quality/train_blocks.py DATA_DIR WORK_DIR       (needs numpy, lightgbm; after `npm run build`)

Five parts by site: WORK_DIR/fold-K.json holds the forests that never saw part K (for cross-validate.mjs), the data file
those trained on everything. The second look learns from first estimates of pages that the first look had not seen.
"""
import argparse
import base64
import hashlib
import json
import pathlib
import subprocess
from collections import Counter

import lightgbm
import numpy as np

from block_labels import NONE, from_segments, from_text

HERE = pathlib.Path(__file__).parent
MODEL = HERE / "../../libs/content/src/block-model.data.ts"
FOLDS = 5
# What a page of each set weighs; pages with labels made by another tool weigh less.
SET_WEIGHT = {"wcxb": 1.0, "aeb": 1.5, "traf": 0.7, "moz": 0.4, "defuddle": 0.3}
COMMON = dict(
    objective="cross_entropy",
    learning_rate=0.08,
    min_sum_hessian_in_leaf=1,
    bagging_fraction=0.6,
    bagging_freq=1,
    lambda_l2=2,
    max_bin=63,
    num_threads=1,
    seed=1,
    verbose=-1,
)
# Random cuts (extra_trees) generalise better here: there are few pages, and each brings many rows. Small smoothed trees
# lose little on unseen sites and much of what was only learned by heart; their depth is also what each estimate costs.
FIRST = dict(
    COMMON,
    extra_trees=True,
    num_leaves=16,
    max_depth=6,
    min_data_in_leaf=100,
    feature_fraction=0.4,
    learning_rate=0.13,
    lambda_l2=8,
    path_smooth=50,
)
SECOND = dict(
    COMMON,
    num_leaves=10,
    max_depth=5,
    min_data_in_leaf=150,
    feature_fraction=0.4,
    learning_rate=0.1,
    lambda_l2=8,
    path_smooth=50,
)
FIRST_TREES, SECOND_TREES = 100, 40
TYPE = dict(COMMON, objective="binary", num_leaves=6, min_data_in_leaf=8, feature_fraction=0.3, learning_rate=0.06)
TYPE_TREES = 60
# The types of block-features.ts by the labels of the pages; sets without labels hold articles.
TYPES = {"article": "article", "forum": "forum", "collection": "list", "listing": "list", "product": "product"}
LABELLED = "wcxb"


def fold_of(site):
    return int(hashlib.sha1(site.encode()).hexdigest(), 16) % FOLDS


def dump(data, out, estimates=None):
    command = ["node", str(HERE / "dump-blocks.mjs"), str(data), str(out)]
    if estimates is not None:
        estimates.astype("<f4").tofile(out / "estimates.f32")
        command.append(str(out / "estimates.f32"))
    subprocess.run(command, check=True)
    names = json.loads((out / "features.json").read_text())
    return names, np.fromfile(out / "rows.f32", "<f4").reshape(-1, len(names))


def read_pages(out):
    with open(out / "pages.jsonl") as lines:
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


def fit(rows, labels, weights, parameters, trees):
    known = weights > 0
    data = lightgbm.Dataset(rows[known], labels[known], weight=weights[known])
    return lightgbm.train(parameters, data, trees)


def fit_folds(rows, labels, weights, folds, parameters, trees):
    """Forest per fold that has not seen it, and the estimates of each block by the one that has not seen it."""
    estimates = np.zeros(len(labels))
    models = []
    for fold in range(FOLDS):
        model = fit(rows, labels, np.where(folds == fold, 0, weights), parameters, trees)
        estimates[folds == fold] = model.predict(rows[folds == fold])
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
        own, estimates = fit_folds(heads, wanted, weights, parts, TYPE, TYPE_TREES)
        for fold in range(FOLDS):
            models[fold].append(own[fold])
        final.append(fit(heads, wanted, weights, TYPE, TYPE_TREES))
        for page, estimate in zip(pages, estimates):
            rows[page["from"] : page["to"], column] = estimate
        right = ((estimates > 0.5) == (wanted > 0.5))[weights == 1].mean()
        print(f"{names[column]}: {right:.3f} of the unseen labelled pages right", flush=True)
    return models, final


def pack(model):
    """The bytes that Forest in block-model.ts reads."""
    roots, leaf_roots, threshold, leaf, feature, children = ([] for _ in range(6))
    for tree in model.dump_model()["tree_info"]:
        roots.append(len(feature))
        leaf_roots.append(len(leaf))
        nodes, leaves = [], []

        def number(node):
            if "leaf_value" in node:
                leaves.append(node["leaf_value"])
                return ~(len(leaves) - 1)
            at = len(nodes)
            nodes.append(None)
            first = number(node["left_child"])
            nodes[at] = (node["split_feature"], max(0.0, node["threshold"]), first, number(node["right_child"]))
            return at

        if number(tree["tree_structure"]) < 0:
            nodes.append((0, 0.0, -1, -1))
        for split, cut, first, second in nodes:
            feature.append(split)
            threshold.append(cut)
            children += [first, second]
        leaf += leaves
    arrays = [(roots, "<i4"), (leaf_roots, "<i4"), (threshold, "<f4"), (leaf, "<f4")]
    arrays += [(feature, "<u2"), (children, "i1")]
    head = np.array([len(roots), len(feature), len(leaf)], "<i4").tobytes()
    return base64.b64encode(head + b"".join(np.array(a, kind).tobytes() for a, kind in arrays)).decode()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    given = parser.parse_args()
    names, rows = dump(given.data, given.work)
    pages = read_pages(given.work)
    labels = np.concatenate([label(page) for page in pages])
    weights = weigh(pages, labels)
    folds = np.concatenate([np.full(len(page["blocks"]), fold_of(page["site"])) for page in pages])
    types, all_types = fit_types(names, rows, pages)
    known_types = [i for i, name in enumerate(names) if name.startswith("type.")]
    told = rows[:, known_types].copy()
    width = names.index("p")
    early = np.ascontiguousarray(rows[:, :width])
    firsts, estimates = fit_folds(early, labels, weights, folds, FIRST, FIRST_TREES)
    _, rows = dump(given.data, given.work, estimates)
    rows[:, known_types] = told
    seconds, estimates = fit_folds(rows, labels, weights, folds, SECOND, SECOND_TREES)
    estimates.astype("<f4").tofile(given.work / "unseen.f32")
    for fold in range(FOLDS):
        ids = [page["id"] for page in pages if fold_of(page["site"]) == fold]
        unseen = {"ids": ids, "types": [pack(model) for model in types[fold]], "first": pack(firsts[fold]), "second": pack(seconds[fold])}
        (given.work / f"fold-{fold}.json").write_text(json.dumps(unseen))
    first = pack(fit(early, labels, weights, FIRST, FIRST_TREES))
    second = pack(fit(rows, labels, weights, SECOND, SECOND_TREES))
    page_types = "".join(f"  '{pack(model)}',\n" for model in all_types)
    MODEL.write_text(
        "/** Generated by test/quality/train_blocks.py; see block-model.ts for the form. */\n"
        f"export const PAGE_TYPES: readonly string[] = [\n{page_types}];\n"
        f"export const FIRST_LOOK =\n  '{first}';\nexport const SECOND_LOOK =\n  '{second}';\n"
    )


if __name__ == "__main__":
    main()
