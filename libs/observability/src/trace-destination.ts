/** Types that the choice of a collector and its SDK share. */
import type { Tracer } from '@troupe/contracts';

export interface OpenTraces {
  readonly tracer: Tracer;
  /** Sends spans that wait, for a moment at most. */
  stop(): Promise<void>;
}

export interface TraceDestination {
  url: string;
  headers: Record<string, string>;
  ratio: number;
  service: string;
  instance: string;
  /** Told of every batch. */
  onResult(spans: number, error: Error | null): void;
}
