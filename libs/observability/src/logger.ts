import { pino, type DestinationStream, type Logger } from 'pino';
import { prettyLine } from './pretty.js';
import { CENSORED, hideCredentials, REDACTED_PATHS } from './redact.js';

export type { Logger } from 'pino';

export interface LoggerOptions {
  /** @default 'info' */
  level?: string;
  /** @default pretty when standard output is a terminal, else json */
  format?: 'pretty' | 'json';
  /** Id of the process among its replicas; part of every line. */
  instance?: string;
  /** @default standard output, written synchronously so that a crash loses no line */
  destination?: DestinationStream;
}

/**
 * The logger of a service. Secrets never leave it: values of well-known keys (authorization, apiKey, password,
 * cookies …) and credentials inside any text, URLs and stack traces included, are replaced.
 */
export function createLogger(service: string, options: LoggerOptions = {}): Logger {
  const destination = options.destination ?? pino.destination({ fd: 1, sync: true });
  const format = options.format ?? (process.stdout.isTTY ? 'pretty' : 'json');
  return pino(
    {
      level: options.level ?? 'info',
      base: options.instance === undefined ? { service } : { service, instance: options.instance },
      redact: { paths: REDACTED_PATHS, censor: CENSORED },
      hooks: { streamWrite: hideCredentials },
    },
    format === 'json' ? destination : prettyStream(destination, process.stdout.isTTY),
  );
}

function prettyStream(destination: DestinationStream, colours: boolean): DestinationStream {
  return { write: (line) => destination.write(prettyLine(line, colours)) };
}
