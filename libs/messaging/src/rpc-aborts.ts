/** Requests of this process that a client may call off, by id (`ctl.abort.<id>`). */
import { abortSubject } from '@troupe/contracts';
import type { NatsLink } from './nats-link.js';

export class RpcAborts {
  private readonly controllers = new Map<string, AbortController>();
  private isListening = false;

  constructor(private readonly link: NatsLink) {}

  listen(): void {
    if (this.isListening) return;
    this.isListening = true;
    const prefix = abortSubject('').length;
    this.link.nc.subscribe(abortSubject('*'), {
      callback: (error, msg) => {
        if (error === null) this.controllers.get(msg.subject.slice(prefix))?.abort(new Error('The client has gone'));
      },
    });
  }

  add(id: string, controller: AbortController): void {
    this.controllers.set(id, controller);
  }

  remove(id: string, controller: AbortController): void {
    if (this.controllers.get(id) === controller) this.controllers.delete(id);
  }
}
