import { gatewayGrantSubject, type ActorKey, type Grant } from '@troupe/contracts';
import type { Effect } from '@troupe/actors';

const GATEWAY = 'gw/';

/** A Grant on its way to its claimant: an actor's mailbox, or a gateway, which has none. */
export function grantEffect(replyTo: string, grant: Grant): Effect {
  if (replyTo.startsWith(GATEWAY))
    return { t: 'notify', subject: gatewayGrantSubject(replyTo.slice(GATEWAY.length)), msg: grant };
  return { t: 'send', to: replyTo as ActorKey, cls: 'level', msg: grant };
}
