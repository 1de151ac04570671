"""Labels of blocks: how much of each block's text lies in the human-checked text of its page.

Words of the page are aligned with the words of the checked text in order (longest common subsequence); runs of at least
MIN_RUN words count, and shorter ones when they fill a block and continue a run. What the alignment leaves over counts when
four words in a row occur on both sides. Pages with segments only label the blocks that hold a segment.
"""
import re
from collections import Counter

import numpy as np

WORD = re.compile(r"\w+")
MIN_RUN = 4
GRAM = 4
NONE = -1.0


def words(text):
    return WORD.findall((text or "").lower())


def aligned(page, truth):
    """Per page word: position of its partner in `truth`, -1 without one (bit-parallel, Hyyrö 2004)."""
    partner = np.full(len(page), -1, np.int32)
    masks = {}
    for i, word in enumerate(truth):
        masks[word] = masks.get(word, 0) | (1 << i)
    full = (1 << len(truth)) - 1
    state, states = full, []
    for word in page:
        u = state & masks.get(word, 0)
        state = ((state + u) | (state - u)) & full
        states.append(state)
    row, col = len(page), len(truth)
    while row and col:
        # the state is cut to its low bits so that shifting stays cheap as the columns go down
        if states[row - 1] >> (col - 1) & 1:
            col -= 1
            continue
        row -= 1
        if row and not states[row - 1] >> (col - 1) & 1:
            continue
        col -= 1
        partner[row] = col
    return partner


def covered(page, truth, block_of):
    partner = aligned(page, truth)
    ok = np.zeros(len(page), bool)
    runs, start = [], 0
    for i in range(1, len(page) + 1):
        if i < len(page) and partner[i] >= 0 and partner[i - 1] >= 0 and 0 < partner[i] - partner[i - 1] <= 2:
            continue
        if partner[i - 1] >= 0:
            runs.append((start, i))
        start = i
    for a, b in runs:
        if b - a >= MIN_RUN:
            ok[a:b] = True
    near = np.full(len(page), -10**6)
    for order in (range(len(page)), range(len(page) - 1, -1, -1)):
        last = None
        for i in order:
            if ok[i]:
                last = partner[i]
            elif partner[i] >= 0 and last is not None and abs(partner[i] - last) <= 40:
                near[i] = 1
    sizes = Counter(block_of)
    filled = Counter(block_of[i] for i in range(len(page)) if partner[i] >= 0)
    for i in range(len(page)):
        if near[i] == 1 and filled[block_of[i]] >= 0.99 * sizes[block_of[i]]:
            ok[i] = True
    used = np.zeros(len(truth), bool)
    used[partner[ok]] = True
    left = Counter(
        tuple(truth[i : i + GRAM]) for i in range(len(truth) - GRAM + 1) if not used[i : i + GRAM].any()
    )
    for i in range(len(page) - GRAM + 1):
        gram = tuple(page[i : i + GRAM])
        if left.get(gram, 0) > 0 and not ok[i : i + GRAM].all():
            ok[i : i + GRAM] = True
            left[gram] -= 1
    return ok


def from_text(blocks, text):
    """Per block: share of its words in `text`; NONE for blocks without words."""
    tokens = [words(b) for b in blocks]
    page = [w for t in tokens for w in t]
    block_of = [i for i, t in enumerate(tokens) for _ in t]
    ok = covered(page, words(text), block_of)
    label = np.full(len(blocks), NONE, np.float32)
    at = 0
    for i, t in enumerate(tokens):
        if t:
            label[i] = ok[at : at + len(t)].mean()
        at += len(t)
    return label


def from_segments(blocks, wanted, unwanted):
    label = np.full(len(blocks), NONE, np.float32)
    tokens = [words(b) for b in blocks]
    flat = [" " + " ".join(t) + " " for t in tokens]
    for segments, value in ((unwanted or [], 0.0), (wanted or [], 1.0)):
        for segment in segments:
            key = " " + " ".join(words(segment)) + " "
            if len(key) < 4:
                continue
            hits = [i for i, f in enumerate(flat) if key in f]
            if not hits:
                hits = [i for i, f in enumerate(flat) if len(f) > 12 and f in key][:6]
            if value == 1.0:
                hits = sorted(hits, key=lambda i: -len(flat[i]))[:1] if hits and key in flat[hits[0]] else hits
            for i in hits:
                if value == 0.0 and len(flat[i]) > 6 * len(key) and len(flat[i]) > 200:
                    continue
                label[i] = value
    return label
