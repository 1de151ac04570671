/** Adapters of the libs, which know nothing of Nest, as providers. */
import { type Provider } from '@nestjs/common';
import { NatsLink } from '@troupe/messaging';
import { type LivePool } from '@troupe/persistence';

/** Injection token of the connections to Postgres. */
export const POOL = Symbol('pool');

/** A repository that needs the pool alone. */
export function onPool<T>(repository: new (pool: LivePool) => T): Provider {
  return { provide: repository, useFactory: (pool: LivePool) => new repository(pool), inject: [POOL] };
}

/** Provides an adapter that needs the connection to NATS alone. */
export function onLink<T>(adapter: new (link: NatsLink) => T): Provider {
  return { provide: adapter, useFactory: (link: NatsLink) => new adapter(link), inject: [NatsLink] };
}
