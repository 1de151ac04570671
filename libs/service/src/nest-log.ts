import type { LoggerService } from '@nestjs/common';
import type { Logger } from '@troupe/observability';

/** What Nest is told by every service: a failed start is thrown, and what it has to say is in the log of the process. */
export function nestOptions({ log }: { log: Logger }) {
  return { logger: nestLog(log), abortOnError: false };
}

/** Context of errors that Nest logs and also throws. The code that started Nest logs them. */
const THROWN_TOO = 'ExceptionHandler';

/** Writes Nest's errors and warnings to the log of the process, with the part of Nest that they come from. */
export function nestLog(log: Pick<Logger, 'error' | 'warn'>): LoggerService {
  const say =
    (level: 'error' | 'warn') =>
    (message: unknown, ...more: unknown[]) => {
      const part = more.at(-1);
      if (part === THROWN_TOO) return;
      log[level](message instanceof Error ? { err: message, part } : { part, more }, String(message));
    };
  return { log: () => undefined, error: say('error'), warn: say('warn') };
}
