import { HOST_STATES, type HostState } from '@troupe/contracts';
import { hostKey } from '@troupe/frontier';
import { BooleanField, Field, NumberField, numberIssues, TextField } from '../validation/fields.js';
import { customIssue, InvalidBodyError, type Issue } from '../validation/issue.js';

const MAX_CONN = 256;
const MAX_GAP_MS = 3_600_000;
const MAX_DELAY_S = 3_600;
const MAX_GIVE_UP_MIN = 2_880;
/** A name, perhaps with a port. The DNS has no longer names. */
const HOST_NAME = /^[^\s/?#@*%]{1,259}$/;

/** An operator's settings for a host, or for all hosts below a suffix. For absent ones the installation's apply. */
export class HostSettingDto {
  @NumberField({ min: 1, max: MAX_CONN }) maxConn?: number;
  @NumberField({ min: 0, max: MAX_GAP_MS }) gapMs?: number;
  /** Page starts a second. */
  @NumberField({ above: 0, max: 10_000, integer: false }) maxRate?: number;
  @NumberField({ min: 1, max: MAX_CONN }) expressConn?: number;
  /** `obey`, or seconds in place of what robots.txt says. */
  @Field(delayIssues, {
    schema: { anyOf: [{ const: 'obey' }, { type: 'number', minimum: 0, maximum: MAX_DELAY_S }] },
  })
  crawlDelay?: 'obey' | number;
  @NumberField({ min: 1, max: MAX_GIVE_UP_MIN }) giveUpMin?: number;
  @BooleanField() hold?: boolean;
  @TextField({ maxLength: 500, stored: true }) note?: string;
}

function delayIssues(value: unknown): Issue[] {
  if (value === 'obey') return [];
  if (typeof value !== 'number') return [customIssue('Expected "obey" or a number of seconds')];
  return numberIssues(value, { min: 0, max: MAX_DELAY_S, integer: false });
}

/** The normal form of a host or of `*.suffix`. @throws InvalidBodyError */
export function readPattern(text: string): string {
  const suffix = text.startsWith('*.') ? normalHost(text.slice(2)) : null;
  const pattern = text.startsWith('*.') ? suffix && `*.${suffix}` : normalHost(text);
  if (!pattern) throw refusal('pattern', 'Expected a host like example.com or example.com:8080, or *.example.com');
  return pattern;
}

/** The name of a host in its normal form. @throws InvalidBodyError */
export function readHost(text: string): string {
  const host = normalHost(text);
  if (host === null) throw refusal('host', 'Expected a host like example.com or example.com:8080');
  return host;
}

function normalHost(text: string): string | null {
  const url = `http://${text}/`;
  return HOST_NAME.test(text) && URL.canParse(url) ? hostKey(new URL(url).href) : null;
}

/** A list with commas; without one, every state but `open`. @throws InvalidBodyError */
export function readStates(text: string | undefined): HostState[] {
  if (text === undefined) return HOST_STATES.filter((state) => state !== 'open');
  const states = text.split(',');
  const isKnown = (state: string): state is HostState => HOST_STATES.some((known) => known === state);
  if (!states.every(isKnown)) throw refusal('state', `Expected some of ${HOST_STATES.join(', ')}, with commas`);
  return states;
}

function refusal(name: string, message: string): InvalidBodyError {
  return new InvalidBodyError([customIssue(message, [name])]);
}
