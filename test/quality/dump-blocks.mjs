/**
 * Features and texts of all blocks of labelled pages, for the trainer.
 *
 *   node test/quality/dump-blocks.mjs DATA_DIR OUT_DIR     (after `npm run build`)
 *
 * OUT_DIR/pages.jsonl: {features, id, dataset, type, site, text?, markdown?, with?, without?, blocks: [text], landmarks, body}
 * per page (page-blocks.mjs); OUT_DIR/rows.f32: the features of all blocks, block by block; OUT_DIR/features.json: their names.
 */
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { FEATURES, PAGE_FEATURES, readBlocks } from './page-blocks.mjs';

const [data, out] = process.argv.slice(2);

function decode(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const charset = /charset\s*=\s*["']?\s*([\w-]+)/i.exec(bytes.subarray(0, 4096).toString('latin1'))?.[1];
    try {
      return new TextDecoder(charset ?? 'windows-1252').decode(bytes);
    } catch {
      return new TextDecoder('windows-1252').decode(bytes);
    }
  }
}

const truth = zlib
  .gunzipSync(fs.readFileSync(path.join(data, 'truth.jsonl.gz')))
  .toString()
  .trim()
  .split('\n');
fs.mkdirSync(out, { recursive: true });
const pages = fs.openSync(path.join(out, 'pages.jsonl'), 'w');
fs.writeFileSync(path.join(out, 'page-features.json'), JSON.stringify(PAGE_FEATURES));
const rows = fs.openSync(path.join(out, 'rows.f32'), 'w');
fs.writeFileSync(path.join(out, 'features.json'), JSON.stringify(FEATURES));
for (const line of truth) {
  const { id, dataset, type, url, site, text, markdown, html } = JSON.parse(line);
  const { with: wanted, without: unwanted, structure } = JSON.parse(line);
  if (dataset === 'cmark' || html === undefined) continue;
  const read = readBlocks(decode(zlib.gunzipSync(fs.readFileSync(path.join(data, html)))));
  fs.writeSync(rows, Buffer.from(read.rows.buffer));
  const page = {
    features: Array.from(read.page, (x) => +x.toPrecision(7)),
    id,
    dataset,
    type,
    url,
    site,
    text,
    markdown,
    with: wanted,
    without: unwanted,
    blocks: read.texts,
    landmarks: read.landmarks,
    body: read.body,
  };
  fs.writeSync(pages, `${JSON.stringify({ ...page, items: structure?.items, headings: structure?.headings })}\n`);
}
