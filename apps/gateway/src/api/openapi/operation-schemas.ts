/** Answers of the calls of our own, of the account and of the operator (spec: own, account). */
import {
  HOST_SETTINGS,
  HOST_STATES,
  MODEL_PROVIDERS,
  OUTCOMES,
  SCOPE_RULES,
  type HostSettingRule,
} from '@troupe/contracts';
import { type Schema } from '../validation/fields.js';
import {
  address,
  count,
  countsOf,
  flag,
  inComponents,
  listOf,
  object,
  oneOf,
  orNull,
  success,
  text,
  time,
  uuid,
} from './schema-parts.js';

const day: Schema = { type: 'string', format: 'date' };
const outcome = oneOf([...OUTCOMES, 'pending']);
/** A place in a table. */
const rowId: Schema = { type: 'string', pattern: '^[0-9]+$' };
const key = inComponents('ApiKey');

const period = { billingPeriodStart: orNull(time), billingPeriodEnd: orNull(time) };
const periodV1 = { billing_period_start: orNull(time), billing_period_end: orNull(time) };
const history = (used: string) =>
  object({
    success,
    periods: listOf(object({ startDate: time, endDate: time, 'apiKey?': text, [used]: count })),
    'next?': address,
  });

const HOST_SETTING_VALUES = Object.fromEntries(
  Object.entries(HOST_SETTINGS).map(([name, rule]) => [`${name}?`, answered(rule)]),
);

function answered(rule: HostSettingRule): Schema {
  if (rule.type === 'number') return rule.integer === false ? { type: 'number' } : count;
  if (rule.type === 'delay') return { type: ['string', 'number'] };
  return rule.type === 'boolean' ? flag : text;
}

const LEDGER_ENTRY = object({
  url: text,
  outcome,
  'rule?': text,
  depth: count,
  'parent?': text,
  'revalidated?': {
    type: 'boolean',
    const: true,
    description: 'Its site said that what the cache had of it has not changed.',
  },
  'source?': { type: 'string', const: 'history', description: 'No page or sitemap named it, an earlier scrape did.' },
  'status?': count,
  'bytes?': count,
  'ms?': count,
  'engine?': text,
  attempts: count,
  'notBefore?': time,
  at: time,
  'scrapeId?': uuid,
});

/** null = unlimited. */
const perSecond: Schema = { type: ['number', 'null'] };
const HOST = {
  host: text,
  state: oneOf(HOST_STATES),
  pagesPerSecond: perSecond,
  maxConn: count,
  gapMs: count,
  since: time,
  'until?': time,
  reasons: listOf(inComponents('HostReason')),
};
const nullOr = (name: string): Schema => ({ anyOf: [inComponents(name), { type: 'null' }] });

const DELIVERY = object({
  webhookId: uuid,
  type: text,
  eventNo: count,
  attempts: listOf(object({ at: time, 'status?': count, 'error?': text, ms: count })),
  state: oneOf(['pending', 'delivered', 'dead']),
});

const EXPLANATION = object({
  url: text,
  canonical: orNull(text),
  inScope: flag,
  rule: orNull(text),
  robots: oneOf(['allowed', 'disallowed']),
});

export const OPERATION_SCHEMAS = {
  PauseAnswer: object({ success, status: { type: 'string', const: 'scraping' }, paused: flag }),
  LedgerEntry: LEDGER_ENTRY,
  Ledger: object(
    {
      success,
      counts: countsOf(outcome),
      discovered: count,
      revalidated: count,
      excluded: countsOf(oneOf(SCOPE_RULES)),
      urls: listOf(inComponents('LedgerEntry')),
      'next?': address,
    },
    {
      description:
        'The counts sum to what was discovered; of the good pages so many were revalidated: not changed since the cache had them. Excluded are links that were left out, per rule.',
    },
  ),
  ExplainAnswer: object({ success, urls: listOf(EXPLANATION), 'warning?': text }),
  Delivery: DELIVERY,
  Deliveries: object({ success, deliveries: listOf(inComponents('Delivery')), 'next?': address }),
  ReplayAnswer: object({ success, queued: count }),
  CreditUsage: object({ success, data: object({ remainingCredits: count, planCredits: count, ...period }) }),
  TokenUsage: object({ success, data: object({ remainingTokens: count, planTokens: count, ...period }) }),
  CreditUsageV1: object({ success, data: object({ remaining_credits: count, plan_credits: count, ...periodV1 }) }),
  TokenUsageV1: object({ success, data: object({ remaining_tokens: count, plan_tokens: count, ...periodV1 }) }),
  CreditHistory: history('creditsUsed'),
  TokenHistory: history('tokensUsed'),
  QueueStatus: object({
    success,
    jobsInQueue: count,
    activeJobsInQueue: count,
    waitingJobsInQueue: count,
    maxConcurrency: count,
    mostRecentSuccess: orNull(time),
  }),
  Concurrency: object({ success, concurrency: count, maxConcurrency: count }),
  Team: object({
    id: uuid,
    name: text,
    concurrency: orNull(count),
    creditsLimit: orNull(count),
    flags: { type: 'object' },
    hasWebhookSecret: flag,
    proxies: inComponents('ProxyLists'),
    model: orNull(inComponents('TeamModel')),
    createdAt: time,
  }),
  TeamModel: object(
    { provider: oneOf(MODEL_PROVIDERS), model: text, baseUrl: orNull(text), hasKey: flag },
    { description: 'Without its key.' },
  ),
  TeamModelAnswer: object({ success, model: orNull(inComponents('TeamModel')) }),
  ProxyLists: object({ basic: listOf(text), stealth: listOf(text) }, { description: 'Without their passwords.' }),
  ProxiesAnswer: object({ success, proxies: inComponents('ProxyLists') }),
  TeamAnswer: object({ success, team: inComponents('Team') }),
  Teams: object({ success, teams: listOf(inComponents('Team')), 'next?': address }),
  ApiKey: object({
    id: uuid,
    name: text,
    prefix: text,
    createdAt: time,
    expiresAt: orNull(time),
    revokedAt: orNull(time),
    lastUsedAt: orNull(time),
  }),
  NewApiKey: {
    allOf: [object({ success, key: text }), key],
    description: 'The key itself is told this once.',
  },
  RevokedApiKey: { allOf: [object({ success }), key] },
  ApiKeys: object({ success, keys: listOf(key), 'next?': address }),
  WebhookSecret: object(
    { success, secret: text, oldValidUntil: orNull(time) },
    {
      description:
        'The secret is told this once. The one before signs too until `oldValidUntil`: `X-Troupe-Signature-Previous`.',
    },
  ),
  Usage: object({
    success,
    usage: listOf(
      object({
        day,
        team: uuid,
        keyId: orNull(uuid),
        keyName: orNull(text),
        credits: count,
        pages: count,
        tokens: count,
      }),
    ),
    'next?': address,
  }),
  Audit: object({
    success,
    entries: listOf(
      object({
        id: rowId,
        at: time,
        actor: text,
        ip: orNull(text),
        action: text,
        target: text,
        details: { type: 'object' },
      }),
    ),
    'next?': address,
  }),
  HostReason: object(
    {
      at: time,
      kind: oneOf(['rateLimited', 'unavailable', 'refused', 'timeout', 'slow']),
      'status?': count,
      'url?': address,
      'retryAfterMs?': count,
      effect: text,
    },
    { description: 'What led to a verdict on a host. The URL is shown to the team that asked for it.' },
  ),
  ThrottledHost: object(
    {
      host: text,
      state: oneOf(HOST_STATES.filter((state) => state !== 'open')),
      pagesPerSecond: perSecond,
      since: time,
      'until?': time,
      'reason?': inComponents('HostReason'),
    },
    { description: 'A host of a running job that is not treated as its settings allow. At most ten, worst first.' },
  ),
  Host: object({ ...HOST, updatedAt: time }),
  JobHosts: object({
    success,
    hosts: listOf(
      object({
        host: text,
        state: oneOf(HOST_STATES),
        'pagesPerSecond?': perSecond,
        'maxConn?': count,
        'gapMs?': count,
        'since?': time,
        'until?': time,
        reasons: listOf(inComponents('HostReason')),
        'updatedAt?': time,
        urls: object({ pending: count, ok: count, failed: count, other: count }),
      }),
    ),
    'next?': address,
  }),
  HostSetting: object({ pattern: text, ...HOST_SETTING_VALUES }),
  Hosts: object({
    success,
    hosts: listOf(inComponents('Host')),
    settings: listOf(inComponents('HostSetting')),
    'next?': address,
  }),
  HostAnswer: object({ success, host: nullOr('Host'), setting: nullOr('HostSetting') }),
  HostSettingAnswer: object({ success, setting: inComponents('HostSetting') }),
  Blocklist: object({
    success,
    hosts: listOf(object({ host: text, reason: orNull(text), at: time })),
    'next?': address,
  }),
  Blocked: object({ success, hosts: listOf(text) }),
  Unblocked: object({ success, removed: count }),
  DeadLetters: object({
    success,
    deadLetters: listOf(
      object({ id: rowId, at: time, key: text, type: text, error: text, actorRev: orNull(text), canReplay: flag }),
    ),
    'next?': address,
  }),
} satisfies Record<string, Schema>;
