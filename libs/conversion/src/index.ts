export { LocalConverter, type LocalConverterOptions } from './local-converter.js';
export { MeteredConverter } from './metered-converter.js';
export { NatsConverter, type ConvertCall, type ConvertHead, type ConvertReplyHead } from './nats-converter.js';
