export { compileSchema, SchemaError, schemaProblem, schemaSizeProblem, type CompiledSchema } from './compile.js';
export { normalise, type Normalised } from './normalise.js';
export { providerSchema, type ProviderSchema } from './provider-schema.js';
export { readDate, readDateTime } from './read-date.js';
export { readNumber } from './read-number.js';
