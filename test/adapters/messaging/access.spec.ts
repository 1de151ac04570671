/** Ways into a NATS server that does not let everybody in, and copies on a cluster of servers. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { nkeys } from '@nats-io/nats-core';
import { NatsAccessError, NatsLink, NatsServerUnfitError, type NatsServerSettings } from '@troupe/messaging';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TEST_CERT, TEST_KEY } from '@troupe/testing';
import { NatsCluster } from '../../support/nats-cluster.js';
import { eventually, insist } from './fixtures.js';
import { TestNatsServer } from './nats-server.js';

let dir: string;
let server: TestNatsServer | null = null;
let link: NatsLink | null = null;

beforeAll(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'troupe-access-'));
});
afterEach(async () => {
  await link?.close();
  await server?.stop();
  link = server = null;
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const full = path.join(dir, name);
  writeFileSync(full, text);
  return full;
}

/** Opens a link and uses it. */
async function use(settings: NatsServerSettings): Promise<void> {
  link = await NatsLink.open({ server: settings, name: 'access' });
  await link.ensureTopology();
  await link.ping();
}

/** Begins to open a link, and resolves with the first trouble that it tells of; the link opens when the server lets it in. */
async function firstProblem(settings: NatsServerSettings, laterLines = ''): Promise<string> {
  const problems: string[] = [];
  const onProblem = (problem: string, error: unknown) => problems.push(`${problem}: ${String(error)}`);
  const opening = NatsLink.open({ server: settings, name: 'access', onProblem });
  await eventually(() => problems.length > 0);
  await server!.kill();
  server!.configure({ lines: laterLines });
  await server!.up();
  link = await opening;
  return problems[0]!;
}

const tlsLines = (verify: boolean): string => {
  const [cert, key] = [file('cert.pem', TEST_CERT), file('key.pem', TEST_KEY)];
  const names = `cert_file: "${cert}", key_file: "${key}", ca_file: "${cert}"`;
  return `tls { ${names}, verify: ${verify}, timeout: 20 }\n`;
};

describe('a way into NATS', () => {
  it('is a name and a password in the address', async () => {
    server = await TestNatsServer.start({ lines: 'authorization { user: "me", password: "s3/cret" }\n' });
    await use({ natsUrl: `nats://me:s3%2Fcret@127.0.0.1:${server.port}` });
  });

  it('is told about when it is refused, and taken once it is open', async () => {
    server = await TestNatsServer.start({ lines: 'authorization { user: "me", password: "right" }\n' });
    const problem = await firstProblem({ natsUrl: `nats://me:wrong@127.0.0.1:${server.port}` });
    expect(problem).toMatch(/NATS cannot be reached yet.*Authorization Violation/i);
    expect(problem).not.toContain('wrong');
    expect(link!.isUp()).toBe(true);
  });

  it('is a token in the address', async () => {
    server = await TestNatsServer.start({ lines: 'authorization { token: "t0ken" }\n' });
    await use({ natsUrl: `nats://t0ken@127.0.0.1:${server.port}` });
  });

  it('is the seed of an nkey in a file', async () => {
    const user = nkeys.createUser();
    server = await TestNatsServer.start({ lines: `authorization { users: [{ nkey: ${user.getPublicKey()} }] }\n` });
    const natsNkeyFile = file('user.nk', `${Buffer.from(user.getSeed()).toString()}\n`);
    await use({ natsUrl: server.url, natsNkeyFile });
  });

  it('leads through TLS when the authority is known, and not when it is not', async () => {
    server = await TestNatsServer.start({ lines: tlsLines(false) });
    const natsUrl = `tls://localhost:${server.port}`;
    await use({ natsUrl, natsTlsCaFile: file('ca.pem', TEST_CERT) });
    await link!.close();
    expect(await firstProblem({ natsUrl: server.url })).toMatch(/self-signed certificate/);
  }, 60_000);

  it('needs TLS when the address says so', async () => {
    server = await TestNatsServer.start();
    const problems: string[] = [];
    const onProblem = (_: string, error: unknown) => problems.push(String(error));
    const settings = { natsUrl: `tls://localhost:${server.port}`, natsTlsCaFile: file('ca.pem', TEST_CERT) };
    const opening = NatsLink.open({ server: settings, name: 'access', onProblem });
    await eventually(() => problems.length > 0);
    expect(problems[0]).toMatch(/does not support 'tls'/);
    await server.kill();
    server.configure({ lines: tlsLines(false) });
    await server.up();
    link = await opening;
    expect(link.isUp()).toBe(true);
  });

  it('needs a certificate of ours where the server asks for one', async () => {
    server = await TestNatsServer.start({ lines: tlsLines(true) });
    const natsUrl = `tls://localhost:${server.port}`;
    const natsTlsCaFile = file('ca.pem', TEST_CERT);
    await use({
      natsUrl,
      natsTlsCaFile,
      natsTlsCertFile: file('cert.pem', TEST_CERT),
      natsTlsKeyFile: file('key.pem', TEST_KEY),
    });
    await link!.close();
    expect(await firstProblem({ natsUrl, natsTlsCaFile }, tlsLines(false))).toMatch(
      /certificate|closed|disconnected|timeout/i,
    );
  }, 60_000);

  it.each([
    ['NATS_CREDS_FILE', { natsCredsFile: '/nowhere/user.creds' }],
    ['NATS_NKEY_FILE', { natsNkeyFile: '/nowhere/user.nk' }],
    ['NATS_TLS_CA_FILE', { natsTlsCaFile: '/nowhere/ca.pem' }],
  ])('names the setting %s when its file is not there', async (setting, files) => {
    const opening = NatsLink.open({ server: { natsUrl: 'nats://127.0.0.1:1', ...files }, name: 'access' });
    await expect(opening).rejects.toThrow(NatsAccessError);
    await expect(opening).rejects.toThrow(`${setting}: ${Object.values(files)[0]} cannot be read (ENOENT)`);
  });

  it('is no file with something else in it', async () => {
    const natsCredsFile = file('empty.creds', 'nothing of use');
    const opening = NatsLink.open({ server: { natsUrl: 'nats://127.0.0.1:1', natsCredsFile }, name: 'access' });
    await expect(opening).rejects.toThrow(/NATS_CREDS_FILE: .* holds no user's JWT/);
  });
});

describe('copies', () => {
  const copiesOf = async (of: NatsLink): Promise<Record<string, number>> => {
    const copies: Record<string, number> = {};
    const names: string[] = [];
    for await (const name of of.jsm.streams.names()) names.push(name);
    for (const name of names) copies[name] = (await of.jsm.streams.info(name)).config.num_replicas;
    return copies;
  };

  /** Servers that elect a leader may keep a request waiting beyond its time: a service then asks again, or is started again. */
  const patiently = async <T>(ask: () => Promise<T>): Promise<T> => {
    const answers: T[] = [];
    await insist(async () => void answers.push(await ask()), 60_000);
    return answers[0]!;
  };

  const isCopied = async (stream: string): Promise<boolean> => {
    const { cluster } = await patiently(() => link!.jsm.streams.info(stream));
    return cluster?.replicas?.length === 2 && cluster.replicas.every(({ current }) => current);
  };

  it('are not to be had of a server that is alone, which is said', async () => {
    server = await TestNatsServer.start();
    link = await NatsLink.open({ server: { natsUrl: server.url, natsReplicas: 3 }, name: 'access' });
    const ensuring = link.ensureTopology();
    await expect(ensuring).rejects.toThrow(NatsServerUnfitError);
    await expect(ensuring).rejects.toThrow(/alone: it cannot keep 3 copies.*NATS_REPLICAS=1/);
  });

  it('are three on a cluster, also of streams and buckets that had one, and outlive a server', async () => {
    const cluster = await NatsCluster.start();
    try {
      link = await NatsLink.open({ server: { ...cluster.access, natsReplicas: 1 }, name: 'access' });
      await patiently(() => link!.ensureTopology());
      expect(new Set(Object.values(await patiently(() => copiesOf(link!))))).toEqual(new Set([1]));
      await link.close();
      link = await NatsLink.open({ server: cluster.access, name: 'access' });
      await patiently(() => link!.ensureTopology());
      const copies = await patiently(() => copiesOf(link!));
      expect(Object.keys(copies).length).toBeGreaterThanOrEqual(8);
      expect(new Set(Object.values(copies))).toEqual(new Set([3]));
      await patiently(async () => (await link!.kv('cancel')).put('kept', 'yes'));
      // Until then the first copy is the only one.
      await eventually(() => isCopied('KV_cancel'), 40_000);
      await cluster.servers[0]!.kill();
      await eventually(async () => {
        const entry = await link!
          .kv('cancel')
          .then((bucket) => bucket.get('kept'))
          .catch(() => null);
        return entry?.string() === 'yes';
      }, 40_000);
    } finally {
      await link?.close();
      link = null;
      await cluster.stop();
    }
  }, 240_000);
});
