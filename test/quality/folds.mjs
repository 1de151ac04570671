/** Forests that have not seen the sites of the pages they judge. Needs a compiled tree. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { compiled } from './kit.mjs';

const { Forest } = await compiled('main-content/block-model.js');

/**
 * @param {string} work folder that train_blocks.py has filled
 * @returns {Map<string, { types: any[], blocks: any }>} by page, as `selectMainContent` takes them
 */
export function unseenModels(work) {
  const models = new Map();
  for (const file of readdirSync(work).filter((name) => /^fold-\d+\.json$/.test(name))) {
    const { ids, types, blocks } = JSON.parse(readFileSync(path.join(work, file), 'utf8'));
    const model = {
      types: types.map((/** @type {string} */ base64) => new Forest(base64)),
      blocks: new Forest(blocks),
    };
    for (const id of ids) models.set(id, model);
  }
  return models;
}
