import { HOST_SETTINGS, HOST_STATES, type HostSettingRule, type HostState } from '@troupe/contracts';
import { hostKey } from '@troupe/frontier';
import { BooleanField, Field, NumberField, numberIssues, TextField } from '../validation/fields.js';
import { customIssue, InvalidBodyError, type Issue } from '../validation/issue.js';

/** With a port; a longer one is no name of the DNS. */
const HOST_NAME = /^[^\s/?#@*%]{1,259}$/;

/** `HostSettingValues`: what an operator wants for a host, or for all below a suffix. */
export class HostSettingDto {
  static {
    for (const [name, rule] of Object.entries(HOST_SETTINGS)) fieldOf(rule)(this.prototype, name);
  }
}

function fieldOf(rule: HostSettingRule): PropertyDecorator {
  if (rule.type === 'number') return NumberField(rule);
  if (rule.type === 'boolean') return BooleanField();
  if (rule.type === 'text') return TextField({ maxLength: rule.maxLength, stored: true });
  const { min: minimum, max: maximum } = rule;
  return Field((value) => delayIssues(value, rule), {
    schema: { anyOf: [{ const: 'obey' }, { type: 'number', minimum, maximum }] },
  });
}

function delayIssues(value: unknown, rule: { min: number; max: number; integer: false }): Issue[] {
  if (value === 'obey') return [];
  if (typeof value !== 'number') return [customIssue('Expected "obey" or a number of seconds')];
  return numberIssues(value, rule);
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
