/** The interface that jest asks of a transform. */
import { compile, keyOf } from './typescript.mjs';

/** @param {string} source @param {string} file */
const process = (source, file) => ({ code: compile(source, file) });

export default {
  process,
  processAsync: async (/** @type {string} */ source, /** @type {string} */ file) => process(source, file),
  getCacheKey: keyOf,
};
