import { Inject, Injectable } from '@nestjs/common';
import { NatsLink } from '@troupe/messaging';
import { type Listener } from '../jobs/ports.js';

/** Core NATS subscriptions; the client renews them by itself after a reconnect. */
@Injectable()
export class NatsListener implements Listener {
  constructor(@Inject(NatsLink) private readonly link: Pick<NatsLink, 'nc'>) {}

  listen<T>(subject: string, onMessage: (message: T) => void): () => void {
    const subscription = this.link.nc.subscribe(subject, {
      callback: (error, message) => {
        if (error) return;
        const decoded = decode<T>(message.data);
        if (decoded !== null) onMessage(decoded);
      },
    });
    return () => subscription.unsubscribe();
  }
}

/** Messages here are advisory and repeated. An unreadable one counts as lost. */
function decode<T>(data: Uint8Array): T | null {
  try {
    return JSON.parse(Buffer.from(data).toString('utf8')) as T;
  } catch {
    return null;
  }
}
