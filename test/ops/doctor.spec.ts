/** The doctor on healthy and on sick installations, each made sick for real, and read as an operator reads it. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { examine } from '../../apps/doctor/src/doctor.js';
import type { Finding } from '../../apps/doctor/src/finding.js';
import { startDns, TEST_CERT, TEST_KEY, type DnsServer } from '@troupe/testing';
import { TestNatsServer } from '../adapters/messaging/nats-server.js';
import { emptyDatabase, testDatabase, type TestDatabase } from '../adapters/persistence/database.js';
import { workspace } from '../support/cluster.js';
import { freePort } from '../support/free-port.js';

const TEST_MS = 60_000;
const NATS_PASSWORD = 'n4ts-s3cret';
const NOBODY = 65_534;
const NO_BROWSER = '/nowhere/chromium';

let folder: string;
let database: TestDatabase;
let nats: TestNatsServer;
let dns: DnsServer;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'troupe-doctor-'));
  chmodSync(folder, 0o755);
  mkdirSync(path.join(folder, 'data'));
  [database, nats, dns] = await Promise.all([
    testDatabase(),
    TestNatsServer.start({ lines: `authorization { user: "me", password: "${NATS_PASSWORD}" }\n` }),
    startDns({}),
  ]);
}, TEST_MS);

afterAll(async () => {
  await database?.drop();
  await nats?.stop();
  dns?.close();
  rmSync(folder, { recursive: true, force: true });
}, TEST_MS);

function healthy(): Record<string, string> {
  return {
    DATABASE_URL: database.url,
    NATS_URL: `nats://me:${NATS_PASSWORD}@127.0.0.1:${nats.port}`,
    TROUPE_DATA_DIR: path.join(folder, 'data'),
    DNS_SERVERS: dns.address,
    CHROMIUM_PATH: process.env.CHROMIUM_PATH ?? '',
  };
}

/** The same without a browser: starting one takes longer than all the rest. */
const withoutBrowser = (): Record<string, string> => ({ ...healthy(), CHROMIUM_PATH: NO_BROWSER });

interface Visit {
  code: number | null;
  text: string;
}

/** A run of its own, as an operator starts it. */
function visit(program: string[], env: Record<string, string>): Promise<Visit> {
  const child = spawn(process.execPath, program, {
    cwd: workspace,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (text += part));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, text })));
}

const IMAGE = 'deploy/image/troupe.mjs';

async function findingsOf(
  env: Record<string, string>,
): Promise<{ code: number | null; findings: Finding[]; text: string }> {
  const { code, text } = await visit([IMAGE, 'doctor', '--json'], env);
  return { code, text, ...(JSON.parse(text) as { findings: Finding[] }) };
}

function findingAbout(findings: Finding[], about: string): Finding {
  const found = findings.find((finding) => finding.about === about);
  if (found === undefined) throw new Error(`nothing about ${about}: ${JSON.stringify(findings, null, 1)}`);
  return found;
}

/** `about: severity found -> mend`, for one pattern. */
const told = (findings: Finding[], about: string): string => {
  const { severity, found, mend } = findingAbout(findings, about);
  return `${severity} ${found} -> ${mend}`;
};

async function streamsOf(server: TestNatsServer): Promise<number> {
  const nc = await connect({ servers: `127.0.0.1:${server.port}`, user: 'me', pass: NATS_PASSWORD });
  const { streams } = await (await jetstreamManager(nc)).getAccountInfo();
  await nc.close();
  return streams;
}

describe('a healthy installation', () => {
  it(
    'has nothing grave, leaves no trace, and tells no secret',
    async () => {
      const { code, findings, text } = await findingsOf(healthy());
      expect(findings.filter(({ severity }) => severity === 'failure')).toEqual([]);
      expect([0, 5]).toContain(code);
      for (const about of [
        ...['configuration', 'postgres', 'postgres rights', 'migrations', 'postgres connections', 'clock (Postgres)'],
        ...['nats', 'nats payload', 'jetstream', 'jetstream streams', 'clock (NATS)'],
        ...['blob store', 'dns'],
      ])
        expect([about, findingAbout(findings, about).severity]).toEqual([about, 'ok']);
      for (const about of ['chromium', 'disk (data)', 'open files', 'memory'])
        expect(findingAbout(findings, about).found).not.toBe('');
      expect(await streamsOf(nats)).toBe(0);
      const blobs = path.join(folder, 'data/blobs');
      expect(existsSync(blobs) ? readdirSync(blobs) : []).toEqual([]);
      expect(text).not.toContain(NATS_PASSWORD);
      expect(text).not.toContain(new URL(database.url).password);
    },
    TEST_MS,
  );

  it(
    'is described in a table for people',
    async () => {
      const { code, text } = await visit([IMAGE, 'doctor'], withoutBrowser());
      expect(code).toBe(6);
      expect(text).toMatch(/^ok {4}configuration +every setting is usable$/m);
      expect(text).toMatch(/^ok {4}postgres +Postgres \d+/m);
      expect(text).toMatch(/^FAIL {2}chromium +CHROMIUM_PATH is \/nowhere\/chromium.*\n +-> Install Chromium/m);
      expect(text).toContain('It does not work before');
    },
    TEST_MS,
  );

  it(
    'needs no addresses before the first npm start',
    async () => {
      const data = path.join(folder, 'first');
      const start = ['deploy/local/start.mjs', 'doctor', '--json', '--no-build', '--data-dir', data];
      const { code, text } = await visit(start, {
        DNS_SERVERS: dns.address,
        CHROMIUM_PATH: process.env.CHROMIUM_PATH ?? '',
      });
      const { findings } = JSON.parse(text.slice(text.indexOf('{'))) as { findings: Finding[] };
      expect([0, 5]).toContain(code);
      for (const about of ['postgres', 'nats'])
        expect(told(findings, about)).toMatch(/^skipped no \w+_URL and no running cluster: npm start brings its own/);
      expect(told(findings, 'blob store')).toMatch(/^ok .*not there yet, can be made/);
      expect(existsSync(data)).toBe(false);
    },
    TEST_MS,
  );
});

describe('a sick installation', () => {
  it(
    'hears of everything that is wrong at once: settings, passwords, servers that are away, a missing browser, a full house',
    async () => {
      const wrong = new URL(database.url);
      wrong.password = 'wr0ng-s3cret';
      writeFileSync(path.join(folder, 'occupied'), 'a file where a folder should be');
      const { code, findings, text } = await findingsOf({
        ...withoutBrowser(),
        PORT: 'many',
        DATABASE_URL: wrong.href,
        NATS_URL: `nats://me:${NATS_PASSWORD}@127.0.0.1:${await freePort()}`,
        DNS_SERVERS: `127.0.0.1:${await freePort()}`,
        TROUPE_DATA_DIR: path.join(folder, 'occupied'),
      });
      expect(code).toBe(6);
      expect(told(findings, 'configuration')).toMatch(/^failure PORT: .*many.* -> Correct it/);
      expect(told(findings, 'postgres')).toMatch(
        /^failure 127\.0\.0\.1:\d+: .*password.* -> .*user or password of DATABASE_URL/,
      );
      expect(told(findings, 'nats')).toMatch(
        /^failure 127\.0\.0\.1:\d+: .*refused.* -> .*start it, or correct host and port/,
      );
      expect(told(findings, 'chromium')).toMatch(/^failure CHROMIUM_PATH is \/nowhere\/chromium.* -> Install Chromium/);
      expect(told(findings, 'dns')).toMatch(/^failure 127\.0\.0\.1:\d+ does not answer.* -> Correct DNS_SERVERS/);
      expect(told(findings, 'blob store')).toMatch(/^failure .*ENOTDIR.* -> Let the user of the services write/);
      expect(text).not.toContain('wr0ng-s3cret');
    },
    TEST_MS,
  );

  it(
    'hears of tables that were not made, of JetStream that is off, and of messages that would be too large',
    async () => {
      const empty = await emptyDatabase();
      const bare = await TestNatsServer.start({ jetStream: false, maxPayload: '1MB' });
      try {
        const { code, findings } = await findingsOf({
          ...withoutBrowser(),
          DATABASE_URL: empty.url,
          NATS_URL: bare.url,
        });
        expect(code).toBe(6);
        expect(told(findings, 'migrations')).toMatch(
          /^failure not applied: InitialSchema\d+, .* -> Run them: troupe migrate/,
        );
        expect(told(findings, 'jetstream')).toMatch(/^failure off -> Start nats-server with -js/);
        expect(told(findings, 'nats payload')).toMatch(/^failure messages up to 1\d+ bytes -> Set max_payload: 8MB/);
      } finally {
        await bare.stop();
        await empty.drop();
      }
    },
    TEST_MS,
  );

  it(
    'hears of a user without rights, of copies that one server cannot keep, and of refused credentials',
    async () => {
      const role = `doctor_${process.pid}`;
      await database.pool.query(`CREATE ROLE ${role} LOGIN PASSWORD 'p'; REVOKE CREATE ON SCHEMA public FROM PUBLIC`);
      try {
        const url = new URL(database.url);
        url.username = role;
        url.password = 'p';
        const sick = { ...withoutBrowser(), DATABASE_URL: url.href };
        const alone = await findingsOf({ ...sick, NATS_REPLICAS: '3' });
        expect(told(alone.findings, 'postgres rights')).toMatch(
          /^failure doctor_\d+ may not make tables -> GRANT CREATE/,
        );
        expect(told(alone.findings, 'migrations')).toMatch(/^failure the list of migrations may not be read/);
        expect(told(alone.findings, 'jetstream streams')).toMatch(/^failure 3 copies .* -> .*NATS_REPLICAS=1/);
        const NATS_URL = `nats://me:wr0ng@127.0.0.1:${nats.port}`;
        const refused = await findingsOf({ ...sick, NATS_URL });
        expect(told(refused.findings, 'nats')).toMatch(/^failure .*Authorization.* -> The server refuses us/i);
      } finally {
        await database.pool.query(`DROP ROLE ${role}`);
      }
    },
    TEST_MS,
  );

  it(
    'hears of TLS that is wanted and not offered, and of certificates that nobody trusts',
    async () => {
      const [cert, key] = [path.join(folder, 'cert.pem'), path.join(folder, 'key.pem')];
      writeFileSync(cert, TEST_CERT);
      writeFileSync(key, TEST_KEY);
      const guarded = await TestNatsServer.start({
        lines: `tls { cert_file: "${cert}", key_file: "${key}", timeout: 20 }\n`,
      });
      try {
        const plain = await findingsOf({
          ...withoutBrowser(),
          DATABASE_URL: `${database.url}?sslmode=require`,
          NATS_URL: `tls://localhost:${guarded.port}`,
        });
        expect(told(plain.findings, 'postgres')).toMatch(/^failure .*does not support SSL.* -> Postgres offers no TLS/);
        expect(told(plain.findings, 'nats')).toMatch(/^failure .*self-signed.* -> .*NATS_TLS_CA_FILE/);
        const trusting = { ...withoutBrowser(), NATS_URL: `tls://localhost:${guarded.port}`, NATS_TLS_CA_FILE: cert };
        expect(told((await findingsOf(trusting)).findings, 'nats tls')).toMatch(/^ok on/);
      } finally {
        await guarded.stop();
      }
    },
    TEST_MS,
  );

  it(
    'hears of clocks that differ',
    async () => {
      const fast = await examine(withoutBrowser(), { isEmbedded: false, now: () => Date.now() + 3_600_000 });
      expect(told(fast, 'clock (Postgres)')).toMatch(/^failure Postgres is 3600 s behind -> .*time service/);
      expect(told(fast, 'clock (NATS)')).toMatch(/^failure NATS is 3600 s behind/);
      const slow = await examine(withoutBrowser(), { isEmbedded: false, now: () => Date.now() - 5_000 });
      expect(told(slow, 'clock (Postgres)')).toMatch(/^warning Postgres is 5\.0 s ahead/);
    },
    TEST_MS,
  );

  it(
    'hears of a folder that its user may not write',
    async () => {
      const closed = path.join(folder, 'closed');
      mkdirSync(closed);
      chmodSync(closed, 0o555);
      const isRoot = process.getuid?.() === 0;
      if (isRoot) process.seteuid!(NOBODY);
      try {
        const findings = await examine({ ...withoutBrowser(), TROUPE_DATA_DIR: closed }, { isEmbedded: false });
        expect(told(findings, 'blob store')).toMatch(/^failure .*EACCES.* -> Let the user of the services write/);
      } finally {
        if (isRoot) process.seteuid!(0);
      }
    },
    TEST_MS,
  );

  it('ends with a word about itself when it is called wrongly', async () => {
    const { code, text } = await visit([IMAGE, 'doctor', '--fast'], {});
    expect(code).toBe(64);
    expect(text).toMatch(/there is no --fast[^]*usage: doctor/);
  });
});
