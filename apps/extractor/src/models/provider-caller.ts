/** One call of a provider, until it is answered, refused for good, or time is up: waits and tries again as its gate says. */
import { inSpan, NO_TRACES, timeoutSignal, type ModelAccess, type Tracer, type Uuid } from '@troupe/contracts';
import { CallFailure, failureOf, unwritten } from './call-failure.js';
import { GateClosedError, type ProviderGate } from './provider-gate.js';
import { openClient } from './providers/open-client.js';
import type { ChatClient, ChatReply, ChatRequest } from './providers/provider.js';
import type { Transport } from './transport.js';

export interface CallerOptions {
  access: ModelAccess;
  transport: Transport;
  gate: ProviderGate;
  /** Time limit of one call. */
  timeoutMs: number;
  contextTokens: number;
  /** @default nothing is recorded */
  tracer?: Tracer;
}

export interface CallLimits {
  team: Uuid;
  /** `performance.now()` at which the question's time is up. */
  deadlineAtMs: number;
  /** Ends with the deadline at the latest. */
  signal: AbortSignal;
}

/** Calls that end in a fault of the provider before the question is given up. */
const MAX_FAULTS = 4;
/** A busy provider is asked again this often. */
const MAX_PAUSES = 20;

export class ProviderCaller {
  private opened: Promise<ChatClient> | null = null;

  constructor(private readonly options: CallerOptions) {}

  /** Loads the provider's package with the first call. */
  client(): Promise<ChatClient> {
    const { access, contextTokens } = this.options;
    this.opened ??= openClient(access, { contextTokens });
    return this.opened;
  }

  /** @throws CallFailure; the signal's reason */
  async call(request: Omit<ChatRequest, 'fetch' | 'signal'>, limits: CallLimits): Promise<ChatReply> {
    const client = await this.client();
    let faults = 0;
    for (let pauses = 0; ;) {
      await this.enter(limits);
      try {
        return await this.recorded(() => this.once(client, request, limits.signal));
      } catch (error) {
        if (!(error instanceof CallFailure) || (error.kind !== 'busy' && error.kind !== 'down')) throw error;
        const isLast = error.kind === 'busy' ? ++pauses >= MAX_PAUSES : ++faults >= MAX_FAULTS;
        if (isLast || this.isTooLate(error, limits)) throw error;
      } finally {
        this.options.gate.leave();
      }
    }
  }

  private async enter({ team, signal }: CallLimits): Promise<void> {
    try {
      await this.options.gate.enter(team, signal);
    } catch (error) {
      if (error instanceof GateClosedError) throw new CallFailure('down', error.reason);
      throw error;
    }
  }

  private isTooLate({ details }: CallFailure, { deadlineAtMs }: CallLimits): boolean {
    return this.options.gate.isClosed || performance.now() + (details.waitMs ?? 0) >= deadlineAtMs;
  }

  /** Traces hold neither question nor answer: the text of pages does not belong there. */
  private recorded(call: () => Promise<ChatReply>): Promise<ChatReply> {
    const { access, tracer = NO_TRACES } = this.options;
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': access.provider,
      'gen_ai.request.model': access.model,
    };
    return inSpan(tracer, ['ask model', tracer.active(), { kind: 'client', attributes }], async (span) => {
      const reply = await call();
      const { usage } = reply;
      if (usage !== null)
        span.set({ 'gen_ai.usage.input_tokens': usage.prompt, 'gen_ai.usage.output_tokens': usage.answer });
      return reply;
    });
  }

  private async once(
    client: ChatClient,
    request: Omit<ChatRequest, 'fetch' | 'signal'>,
    ending: AbortSignal,
  ): Promise<ChatReply> {
    const { access, transport, gate, timeoutMs } = this.options;
    const { fetch, trace } = transport.open();
    const timeout = timeoutSignal(timeoutMs);
    const signal = AbortSignal.any([ending, timeout]);
    try {
      const reply = await withinSignal(client.ask({ ...request, fetch, signal }), signal);
      gate.succeeded();
      return reply;
    } catch (error) {
      ending.throwIfAborted();
      const failure = trace.isSent
        ? failureOf(trace, timeout.aborted, secretsOf(access))
        : unwritten(error, secretsOf(access));
      if (failure.kind === 'busy') gate.busy(failure.details.waitMs);
      else if (failure.kind === 'down') gate.failed(failure.message);
      else if (trace.isSent) gate.succeeded();
      throw failure;
    }
  }
}

/** Ends the wait with the signal: a client may be slow to notice it. */
function withinSignal<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

function secretsOf({ apiKey, baseUrl }: ModelAccess): string[] {
  const address = baseUrl === null ? null : new URL(baseUrl);
  return [apiKey, address?.username, address?.password].filter((secret): secret is string => !!secret);
}
