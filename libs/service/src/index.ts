export { listen, type ListenOptions } from './listen.js';
export { Connections } from './connections.js';
export { nestOptions } from './nest-log.js';
export { overNats, overPostgres, ServiceModule, watched, type ServiceNeeds } from './service.module.js';
export { BLOBS, CONFIG, INSTANCE, LOG, POOL, TRACER, type Config } from './tokens.js';
