/**
 * Which turns belong to which trace. A job's actor keeps the trace of the call that started the job with its state; hosts and
 * teams work for many jobs and follow the messages in hand.
 */
import { NO_SPAN, traceIdOf, type TraceSpan, type TraceParent, type Tracer } from '@troupe/contracts';
import type { ActorDef } from './actor.js';
import type { LiveActor } from './activations.js';

/** Turns of one actor that are recorded, together with their work. */
export const TRACED_TURNS = 100;

/** @param told contexts of the messages of the turn */
export function turnSpan(
  tracer: Tracer,
  { liveActor, def }: { liveActor: LiveActor; def: ActorDef<unknown, unknown> },
  told: readonly TraceParent[],
): TraceSpan {
  const parents = def.keepsTrace === true ? ownParents(liveActor, told) : told;
  const [parent, ...links] = parents;
  if (parent === undefined) return NO_SPAN;
  const attributes = def.keepsTrace === true ? { 'troupe.actor': liveActor.key } : undefined;
  return tracer.span(`turn ${def.kind}`, parent, { kind: 'consumer', links, attributes });
}

function ownParents(liveActor: LiveActor, told: readonly TraceParent[]): TraceParent[] {
  const [first] = told;
  if (liveActor.rev === 0 && first !== undefined) liveActor.trace ??= { parent: first, left: TRACED_TURNS };
  const { trace } = liveActor;
  if (trace === null || trace.left <= 0) return [];
  trace.left -= 1;
  const own = traceIdOf(trace.parent);
  const causes = told.filter((cause) => traceIdOf(cause) === own);
  return causes.length === 0 ? [trace.parent] : causes;
}
