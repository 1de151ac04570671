/**
 * What an operator may set for a host. The columns of table `host_setting`, what the calls accept and answer, and the
 * table of docs/running.md are made of this list or compared with it.
 */

export type HostSettingRule = { text: string } & (
  | { type: 'number'; unit: string; min?: number; above?: number; max: number; integer?: boolean }
  /** `obey`, or a number of seconds. */
  | { type: 'delay'; unit: 's'; min: number; max: number; integer: false }
  | { type: 'boolean' }
  | { type: 'text'; maxLength: number }
);

export const HOST_SETTINGS = {
  maxConn: { type: 'number', unit: 'connections', min: 1, max: 256, text: 'lanes of pages at once, over all fetchers' },
  gapMs: { type: 'number', unit: 'ms', min: 0, max: 3_600_000, text: 'least time between starts on one connection' },
  maxRate: {
    type: 'number',
    unit: 'page starts a second',
    above: 0,
    max: 10_000,
    integer: false,
    text: 'at most, over all fetchers',
  },
  expressConn: {
    type: 'number',
    unit: 'connections',
    min: 1,
    max: 256,
    text: 'single scrapes, robots.txt and sitemaps at once, over all fetchers',
  },
  crawlDelay: {
    type: 'delay',
    unit: 's',
    min: 0,
    max: 3_600,
    integer: false,
    text: 'between page starts, in place of what robots.txt says; `obey`: that; 0 only with `ALLOW_IGNORE_ROBOTS`',
  },
  giveUpMin: {
    type: 'number',
    unit: 'min',
    min: 1,
    max: 2_880,
    text: 'without a clean answer, after which the URLs of a host that is down are given up',
  },
  hold: { type: 'boolean', text: 'no requests at all' },
  note: { type: 'text', maxLength: 500, text: 'why, for operators' },
} as const satisfies Record<string, HostSettingRule>;

type ValueOf<R extends HostSettingRule> = {
  number: number;
  delay: 'obey' | number;
  boolean: boolean;
  text: string;
}[R['type']];

type Rules = typeof HOST_SETTINGS;

/** What is absent is the installation's. */
export type HostSettingValues = { -readonly [N in keyof Rules]?: ValueOf<Rules[N]> };

/** Settings of an operator for a host or for `*.suffix`. */
export interface HostSetting extends HostSettingValues {
  /** Exact host key, or `*.` and a suffix. */
  pattern: string;
}
