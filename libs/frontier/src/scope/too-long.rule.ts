import { MAX_URL_CHARS } from '../canonicalize.js';
import type { ScopeRuleFactory } from './rule.js';

/** Rule `too-long`: more than `MAX_URL_CHARS`. */
export const tooLongRule: ScopeRuleFactory =
  () =>
  ({ url }) =>
    url.length > MAX_URL_CHARS ? 'too-long' : null;
