export type { FormatInput, FormatKind, FormatWords, SelectorLanguage, V1Name, ModelPrompt } from './format-kind.js';
export {
  documentKey,
  formatKind,
  formatName,
  FORMATS,
  FORMATS_NOT_OFFERED,
  formatsFromV2,
  formatsToV1,
  formatToV2,
  formatWords,
  isModelFormat,
  modelCredits,
  modelPartOf,
  needsBrowser,
  V1_NAMES,
} from './formats.js';
export type { DataItem, PageData } from './page-data.js';
export type { PageToWrite } from './page-to-write.js';
export { MAX_PROMPT_CHARS, MODEL_PROMPT, type Options, type Rule } from './rules.js';
export { count, file, flag, inComponents, listOf, mapOf, number, object, text, type Schema } from './schema-parts.js';
export { SCREENSHOT_OPTIONS, screenshotFromV2 } from './screenshot.js';
export { modelPromptFromV2, modelPromptToV2 } from './model-prompt.js';
export { writeFormats } from './write-formats.js';
