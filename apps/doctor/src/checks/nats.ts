import { addressesShown, examineNats, NatsAccessError, type JetStreamReport, type NatsReport } from '@troupe/messaging';
import { failure, fine, reasonOf, skipped, warning, type Finding } from '../finding.js';
import type { Installation } from '../installation.js';
import { compareClocks } from './clock.js';
import { isLoopback } from './loopback.js';

const ASK_MS = 10_000;
const LEAST_STORAGE_BYTES = 1_000_000_000;
const FULL = 0.8;

export async function checkNats({ config, isSet, isEmbedded, now }: Installation): Promise<Finding[]> {
  if (!isSet('NATS_URL'))
    return isEmbedded ? [skipped('nats', 'no NATS_URL and no running cluster: npm start brings its own')] : [];
  const servers = addressesShown(config.natsUrl);
  let report: NatsReport;
  try {
    report = await examineNats(config, ASK_MS);
  } catch (error) {
    return [failure('nats', `${servers}: ${reasonOf(error)}`, adviceFor(error))];
  }
  const { jetStream } = report;
  const findings = [checkVersion(report, servers), checkTls(report, servers), checkPayload(report)];
  if (jetStream === null) {
    const mend = 'Start nats-server with -js, or with a jetstream {} block in its configuration.';
    return [...findings, failure('jetstream', 'off', mend)];
  }
  findings.push(checkStorage(jetStream), checkStream(jetStream, report));
  // The report compares with the system's clock; `now` may be another one.
  if (jetStream.skewMs !== null) findings.push(compareClocks('NATS', jetStream.skewMs + Date.now() - now()));
  return findings;
}

function adviceFor(error: unknown): string {
  if (error instanceof NatsAccessError) return 'Correct the path, or mount the secret there.';
  const text = `${reasonOf(error)} ${error instanceof Error ? reasonOf(error.cause) : ''}`;
  if (/authorization|authentication|user jwt|nonce/i.test(text))
    return 'The server refuses us: correct the credentials (NATS_URL, NATS_CREDS_FILE, NATS_NKEY_FILE).';
  if (/bad certificate|certificate required|handshake/i.test(text))
    return 'The server wants a certificate of ours: set NATS_TLS_CERT_FILE and NATS_TLS_KEY_FILE.';
  if (/certificate|self.signed|altname/i.test(text))
    return 'The certificate of the server is not trusted: name its authority with NATS_TLS_CA_FILE, and use a name that it is made for.';
  if (/timeout|disconnected|EPIPE|ECONNRESET/i.test(text))
    return 'The server took the connection and let no client in: if it verifies certificates, set NATS_TLS_CERT_FILE and NATS_TLS_KEY_FILE, else look into its log and at the network between.';
  if (/support 'tls'/.test(text))
    return 'The server offers no TLS: turn it on there, or use nats:// and no NATS_TLS_… settings.';
  return 'nats-server does not answer at NATS_URL: start it, or correct host and port.';
}

function checkVersion({ version, oldest, isNewEnough, cluster }: NatsReport, servers: string): Finding {
  const found = `nats-server ${version} at ${servers}${cluster === null ? '' : `, cluster ${cluster}`}`;
  if (isNewEnough) return fine('nats', found);
  return failure(
    'nats',
    found,
    `Troupe needs ${oldest} or newer: older ones silently ignore what it relies on. Upgrade.`,
  );
}

function checkTls({ isEncrypted }: NatsReport, servers: string): Finding {
  if (isEncrypted) return fine('nats tls', 'on');
  if (servers.split(', ').every(isLoopback)) return fine('nats tls', 'off, on this machine');
  const mend =
    'Turn TLS on at the server and use tls:// in NATS_URL, with NATS_TLS_CA_FILE for an authority of your own.';
  return warning('nats tls', 'credentials and pages travel in the clear', mend);
}

function checkPayload({ maxPayloadBytes, neededPayloadBytes }: NatsReport): Finding {
  const found = `messages up to ${maxPayloadBytes} bytes`;
  if (maxPayloadBytes >= neededPayloadBytes) return fine('nats payload', found);
  return failure('nats payload', found, 'Set max_payload: 8MB in the configuration of nats-server.');
}

function checkStorage({ storage, memory }: JetStreamReport): Finding {
  const found = `${megabytes(storage.usedBytes)} stored, limit ${limitOf(storage.limitBytes)}; memory limit ${limitOf(memory.limitBytes)}`;
  const { usedBytes, limitBytes } = storage;
  if (limitBytes >= 0 && (limitBytes < LEAST_STORAGE_BYTES || usedBytes > FULL * limitBytes)) {
    const mend = 'Give the account more file storage: when it is full, no new work is accepted.';
    return warning('jetstream', found, mend);
  }
  return fine('jetstream', found);
}

function checkStream({ refusal }: JetStreamReport, { replicas, cluster }: NatsReport): Finding {
  const copies = `${replicas} ${replicas === 1 ? 'copy' : 'copies'} of every stream`;
  if (refusal === 'too few servers') {
    const mend = `Add servers with JetStream, or set NATS_REPLICAS=1 (${cluster === null ? 'the server is alone' : `cluster ${cluster}`}).`;
    return failure('jetstream streams', `${copies} cannot be kept`, mend);
  }
  if (refusal !== null) {
    const mend = 'Let the user make streams ($JS.API.>) and give the account file storage.';
    return failure('jetstream streams', `a stream could not be made: ${refusal.reason}`, mend);
  }
  if (cluster !== null && replicas === 1) {
    const mend = 'Set NATS_REPLICAS=3, or leave it out.';
    return warning('jetstream streams', `${copies} on a cluster: a server that is lost takes its streams along`, mend);
  }
  return fine('jetstream streams', `made, written and removed; ${copies}`);
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1_000_000)} MB`;
const limitOf = (bytes: number): string => (bytes < 0 ? 'none' : megabytes(bytes));
