import { describe, expect, it } from '@jest/globals';
import { compareClocks } from './clock.js';
import { isLoopback } from './loopback.js';
import { judgeMemory, judgeOpenFiles, judgeShared, judgeSpace } from './resources.js';

const MIB = 1024 * 1024;
const GB = 1_000_000_000;
const space = (freeGb: number, sizeGb = 100, freeFiles: number | null = 1000) =>
  judgeSpace('disk', '/data', {
    freeBytes: freeGb * GB,
    sizeBytes: sizeGb * GB,
    freeFiles: freeFiles === null ? null : { free: freeFiles, all: 1000 },
  });

describe('disk', () => {
  it.each([
    [50, 100, 1000, 'ok'],
    [4, 100, 1000, 'warning'],
    [1.5, 10, 1000, 'warning'],
    [0.1, 10, 1000, 'failure'],
    [50, 100, 10, 'warning'],
    [50, 100, null, 'ok'],
  ])('with %d of %d GB and %p of 1,000 inodes free is %s', (freeGb, sizeGb, freeFiles, severity) => {
    expect(space(freeGb, sizeGb, freeFiles).severity).toBe(severity);
  });

  it('short of inodes says so', () => {
    expect(space(50, 100, 10)).toMatchObject({ found: expect.stringContaining('10 of 1000 inodes') });
  });
});

describe('open files', () => {
  it.each([
    [Infinity, 'ok'],
    [65_536, 'ok'],
    [1024, 'warning'],
    [256, 'failure'],
  ])('%d are %s', (limit, severity) => {
    expect(judgeOpenFiles(limit).severity).toBe(severity);
  });
});

describe('memory', () => {
  it.each([
    [4096, 'ok'],
    [512, 'warning'],
    [128, 'failure'],
  ])('of %d MiB is %s', (mib, severity) => {
    expect(judgeMemory(mib * MIB, true)).toMatchObject({ severity, found: expect.stringContaining('container') });
  });

  it('shared with Chromium is too small at the 64 MiB that containers have', () => {
    expect(judgeShared(64 * MIB)).toMatchObject({ severity: 'warning', mend: expect.stringContaining('--shm-size') });
    expect(judgeShared(512 * MIB).severity).toBe('ok');
  });
});

describe('clocks', () => {
  it.each([
    [0, 'ok', 'NATS is 0.0 s ahead'],
    [-1_500, 'ok', 'NATS is 1.5 s behind'],
    [5_000, 'warning', 'NATS is 5.0 s ahead'],
    [-3_600_000, 'failure', 'NATS is 3600 s behind'],
  ])('that differ by %d ms are %s', (skewMs, severity, found) => {
    expect(compareClocks('NATS', skewMs)).toMatchObject({ severity, found });
  });
});

describe('loopback', () => {
  it.each(['localhost', 'localhost:5432', '127.0.0.1:4222', '[::1]:4222', '127.1.2.3'])(
    '%s is this machine',
    (host) => {
      expect(isLoopback(host)).toBe(true);
    },
  );
  it.each(['db', '10.0.0.1:5432', 'localhost.example:1', '[fd00::1]:4222'])('%s is not', (host) => {
    expect(isLoopback(host)).toBe(false);
  });
});
