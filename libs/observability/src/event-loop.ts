import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Logger } from './logger.js';

export const LAG_WARNING_MS = 200;
const LOOK_EVERY_MS = 5_000;
const RESOLUTION_MS = 50;

/** Warns when something held the event loop for longer than `LAG_WARNING_MS` since the last look. */
export function watchEventLoop(log: Logger): { stop(): void } {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const timer = setInterval(() => {
    const lagMs = Math.round(delay.max / 1e6) - RESOLUTION_MS;
    delay.reset();
    if (lagMs > LAG_WARNING_MS) log.warn({ lagMs }, 'the event loop was held up');
  }, LOOK_EVERY_MS);
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      delay.disable();
    },
  };
}
