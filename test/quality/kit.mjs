/** The labelled pages beside the project, and what every script here needs to know about them. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { root } from '../../deploy/local/places.mjs';

const kit = process.env.TROUPE_QUALITY_KIT ?? path.join(root, '../shared/quality');

export const pagesDir = path.join(kit, 'dev');
export const scorer = path.join(kit, 'score.mjs');

/** One sentence when the pages or the scorer are missing, null when all is there. */
export function whyNoKit() {
  const missing = [path.join(pagesDir, 'truth.jsonl.gz'), scorer].find((file) => !existsSync(file));
  return missing === undefined
    ? null
    : `No quality was measured: ${missing} does not exist (TROUPE_QUALITY_KIT names the folder of the kit).`;
}

/** @typedef {{ id: string, dataset: string, url: string, html?: string, htmlText?: string }} Label */

/** @returns {Label[]} */
export function labels() {
  const lines = gunzipSync(readFileSync(path.join(pagesDir, 'truth.jsonl.gz')))
    .toString()
    .split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
}

/** @param {Label} label @returns {Buffer} */
export function bytesOf({ html, htmlText }) {
  if (htmlText !== undefined) return Buffer.from(htmlText);
  return gunzipSync(readFileSync(path.join(pagesDir, String(html))));
}

/** A compiled file of a lib. @param {string} place such as `html/parse.js` @returns {Promise<any>} */
export function compiled(place) {
  const [lib = '', ...file] = place.split('/');
  return import(path.join(root, 'dist/libs', lib, 'src', ...file));
}

/** Which links a crawl takes, as the converter is handed it. @returns {Promise<any>} */
export function linkRules() {
  return import(path.join(root, 'dist/libs/frontier/src/index.js'));
}
