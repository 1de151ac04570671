import { beforeEach, describe, expect, it } from '@jest/globals';
import type { HostSetting } from '@troupe/contracts';
import type { HostView } from '@troupe/messaging';
import { parseRobots } from '@troupe/politeness';
import { HostTreatment } from './host-treatment.js';

describe('the treatment of a host', () => {
  let view: HostView;
  let setting: HostSetting | null;
  const treatment = new HostTreatment({
    board: { of: () => view },
    settings: { settingOf: () => setting },
    expressConn: 4,
    maxCrawlDelayMs: 60_000,
  });

  beforeEach(() => {
    view = { state: 'open', restMs: 0, gapMs: 0, share: 1 };
    setting = null;
  });

  it('is that of an open host while nothing is known', () => {
    expect([
      treatment.stateOf('x'),
      treatment.pauseMs('x'),
      treatment.gapMs('x'),
      treatment.expressPlaces('x'),
    ]).toEqual(['open', 0, 0, 4]);
  });

  it('gives single requests the share that the host is slowed to, and never less than one place', () => {
    view = { state: 'slowed', restMs: 0, gapMs: 700, share: 0.4 };
    expect([treatment.expressPlaces('x'), treatment.gapMs('x'), treatment.pauseMs('x')]).toEqual([2, 700, 0]);
    view.share = 0.01;
    expect(treatment.expressPlaces('x')).toBe(1);
    setting = { pattern: 'x', expressConn: 10 };
    view.share = 0.5;
    expect(treatment.expressPlaces('x')).toBe(5);
  });

  it('ends a pause with its rest, and that of a host that is down only with another verdict', () => {
    view = { state: 'paused', restMs: 300, gapMs: 0, share: 1 };
    expect([treatment.stateOf('x'), treatment.pauseMs('x')]).toEqual(['paused', 300]);
    view.restMs = 0;
    expect([treatment.stateOf('x'), treatment.pauseMs('x')]).toEqual(['open', 0]);
    view.state = 'down';
    expect([treatment.stateOf('x'), treatment.pauseMs('x')]).toEqual(['down', 1000]);
  });

  it('asks nothing of a host that an operator holds', () => {
    setting = { pattern: 'x', hold: true };
    expect(treatment.stateOf('x')).toBe('held');
    expect(treatment.pauseMs('x')).toBeGreaterThan(0);
  });

  it('takes the crawl-delay of the rules up to a limit, or what an operator wants instead', () => {
    const delay = (seconds: number) => parseRobots(`User-agent: *\nCrawl-delay: ${seconds}`);
    expect(treatment.crawlDelayMs('x', delay(3), 'Troupe')).toBe(3000);
    expect(treatment.crawlDelayMs('x', delay(300), 'Troupe')).toBe(60_000);
    expect(treatment.crawlDelayMs('x', parseRobots(''), 'Troupe')).toBe(0);
    setting = { pattern: 'x', crawlDelay: 90 };
    expect(treatment.crawlDelayMs('x', delay(3), 'Troupe')).toBe(90_000);
    setting = { pattern: 'x', crawlDelay: 'obey' };
    expect(treatment.crawlDelayMs('x', delay(3), 'Troupe')).toBe(3000);
  });
});
