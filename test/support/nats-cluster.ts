/** Three nats-servers on loopback that are one cluster: TLS both ways, users by signed credentials. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { examineNats, type NatsServerSettings } from '@troupe/messaging';
import { TEST_CERT, TEST_KEY } from '@troupe/testing';
import { TestNatsServer } from '../adapters/messaging/nats-server.js';
import { freePort } from './free-port.js';
import { makeAccounts } from './nats-accounts.js';

const SERVERS = 3;
/** Until a leader is elected. */
const PATIENCE_MS = 45_000;

export type NatsAccess = Required<
  Pick<NatsServerSettings, 'natsUrl' | 'natsCredsFile' | 'natsTlsCaFile' | 'natsTlsCertFile' | 'natsTlsKeyFile'>
>;

export class NatsCluster {
  private constructor(
    private readonly dir: string,
    readonly servers: readonly TestNatsServer[],
    readonly access: NatsAccess,
  ) {}

  static async start(): Promise<NatsCluster> {
    const dir = mkdtempSync(path.join(tmpdir(), 'troupe-nats-cluster-'));
    const files = {
      certFile: path.join(dir, 'cert.pem'),
      keyFile: path.join(dir, 'key.pem'),
      creds: path.join(dir, 'u'),
    };
    const accounts = makeAccounts();
    writeFileSync(files.certFile, TEST_CERT);
    writeFileSync(files.keyFile, TEST_KEY, { mode: 0o600 });
    writeFileSync(files.creds, accounts.creds, { mode: 0o600 });
    const routes = await Promise.all(Array.from({ length: SERVERS }, () => freePort()));
    // The certificate signs itself: it is authority, server and client.
    const { certFile, keyFile } = files;
    const tls = `tls { cert_file: "${certFile}", key_file: "${keyFile}", ca_file: "${certFile}", verify: true, timeout: 20 }`;
    const urls = routes.map((port) => `"nats://127.0.0.1:${port}"`).join(', ');
    const servers = await Promise.all(
      routes.map((port, i) =>
        TestNatsServer.start({
          lines: `server_name: "n${i}"\n${tls}\n${accounts.config}cluster { name: "trio", listen: "127.0.0.1:${port}", routes: [${urls}] }\n`,
        }),
      ),
    );
    const cluster = new NatsCluster(dir, servers, {
      natsUrl: servers.map(({ port }) => `tls://localhost:${port}`).join(','),
      natsCredsFile: files.creds,
      natsTlsCaFile: certFile,
      natsTlsCertFile: certFile,
      natsTlsKeyFile: keyFile,
    });
    await cluster.untilLed();
    return cluster;
  }

  /** The same in the words of the environment. */
  get environment(): Record<string, string> {
    const { natsUrl, natsCredsFile, natsTlsCaFile, natsTlsCertFile, natsTlsKeyFile } = this.access;
    return {
      NATS_URL: natsUrl,
      NATS_CREDS_FILE: natsCredsFile,
      NATS_TLS_CA_FILE: natsTlsCaFile,
      NATS_TLS_CERT_FILE: natsTlsCertFile,
      NATS_TLS_KEY_FILE: natsTlsKeyFile,
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Resolves when streams of three copies can be made. */
  private async untilLed(): Promise<void> {
    const untilMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const refusal = await examineNats(this.access, 3_000).then(
        ({ jetStream }) => (jetStream === null ? 'no JetStream' : jetStream.refusal),
        (error: unknown) => String(error),
      );
      if (refusal === null) return;
      if (performance.now() > untilMs) throw new Error(`no leader of the cluster: ${JSON.stringify(refusal)}`);
      await sleep(250);
    }
  }
}
