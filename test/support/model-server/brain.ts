/** The stand-in for the model in a scripted server. */
import type { Message } from './prompt-reading.js';

export interface BrainRequest {
  messages: Message[];
  /** Schema that the answer should satisfy, however it was asked for; null: a text. */
  schema: Record<string, unknown> | null;
  /** Tools that were offered, the one that stands for the schema left out. */
  tools: { name: string; description?: string; parameters: Record<string, unknown> }[];
  mode: 'json_schema' | 'tools' | 'json_object' | 'text';
  /** First line of the prompt: what the call is for. */
  purpose: string;
  /** From 1, over all requests of this server. */
  number: number;
}

export interface Reply {
  /** A value to answer in the asked form. */
  value?: unknown;
  /** Said instead, as it is. */
  text?: string;
  toolCalls?: { name: string; arguments: unknown }[];
  refusal?: string;
  /** @default by the answer */
  finish?: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  /** null: none is told. @default a quarter of the characters */
  usage?: { prompt: number; answer: number } | null;
  /** An error instead. */
  status?: number;
  headers?: Record<string, string>;
  error?: { message: string; type?: string; code?: string | null };
  /** Before anything is sent. */
  delayMs?: number;
  /** The connection ends: before the answer, or in its middle. */
  cut?: 'before' | 'middle';
}

export type Brain = (request: BrainRequest) => Reply | Promise<Reply>;
