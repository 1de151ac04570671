import { describe, expect, it } from '@jest/globals';
import { readInstallation } from './installation.js';

const ADDRESSES = { DATABASE_URL: 'postgresql://me:secret@127.0.0.1/x', NATS_URL: 'nats://127.0.0.1:4222' };
const of = (environment: Record<string, string>, isEmbedded = false) => readInstallation(environment, { isEmbedded });

describe('an installation', () => {
  it('with usable settings is as it says', () => {
    const { installation, findings } = of({ ...ADDRESSES, PORT: '0' });
    expect(findings).toEqual([{ about: 'configuration', severity: 'ok', found: 'every setting is usable' }]);
    expect(installation.config).toMatchObject({ port: 0, natsUrl: ADDRESSES.NATS_URL });
    expect([installation.isSet('DATABASE_URL'), installation.isSet('NATS_URL')]).toEqual([true, true]);
  });

  it('hears of every bad setting, and is looked at without it', () => {
    const { installation, findings } = of({ ...ADDRESSES, PORT: 'many', NATS_TLS_CERT_FILE: '/c', HOST_GAP_MS: '5' });
    expect(findings.map(({ severity }) => severity)).toEqual(['failure', 'failure']);
    expect(findings.map(({ found }) => found).join()).toMatch(/PORT.*NATS_TLS_KEY_FILE/s);
    expect(installation.config).toMatchObject({ port: 3002, hostGapMs: 5 });
    expect(installation.config.natsTlsCertFile).toBeUndefined();
  });

  it('without addresses is sick, unless npm start brings the servers', () => {
    const sick = of({});
    expect(sick.findings.map(({ found }) => found).join()).toMatch(/DATABASE_URL.*NATS_URL/s);
    expect(sick.installation.isSet('DATABASE_URL')).toBe(false);
    const well = of({}, true);
    expect(well.findings[0]).toMatchObject({ severity: 'ok' });
    expect(well.installation.isSet('NATS_URL')).toBe(false);
  });
});
