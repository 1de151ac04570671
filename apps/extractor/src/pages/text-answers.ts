/**
 * Formats `summary` and `question`: a text about the whole page. Long pages are read by way of notes on their parts.
 */
import { TroupeError } from '@troupe/contracts';
import { estimateTokens } from '@troupe/extraction';
import {
  ANSWER_OF_EVIDENCE,
  ANSWER_OF_PAGE,
  EVIDENCE_OF_PART,
  NO_EVIDENCE,
  SUMMARY_OF_PAGE,
  SUMMARY_OF_PART,
  SUMMARY_OF_PARTS,
} from './instructions.js';
import type { PageAnswer } from '../models/schema-check.js';
import { promptTokens, type PageCalls } from './page-calls.js';
import { readParts, type PageText } from './read-parts.js';

/** Instructions for reading a page, and for joining the notes on its parts. */
interface Reading {
  purpose: string;
  request: string | null;
  whole: string;
  part: string;
  joined: string;
}

/** Share of the budget left for joining the notes. */
const SPARE = 0.25;
/** Notes on notes on notes: more levels than any budget can read. */
const MAX_LEVELS = 6;

export function answerSummary(page: PageText, calls: PageCalls): Promise<PageAnswer> {
  const reading = {
    purpose: 'summary',
    request: null,
    whole: SUMMARY_OF_PAGE,
    part: SUMMARY_OF_PART,
    joined: SUMMARY_OF_PARTS,
  };
  return readTexts(page, reading, calls);
}

export function answerQuestion(page: PageText, question: string, calls: PageCalls): Promise<PageAnswer> {
  const reading = {
    purpose: 'question',
    request: question,
    whole: ANSWER_OF_PAGE,
    part: EVIDENCE_OF_PART,
    joined: ANSWER_OF_EVIDENCE,
  };
  return readTexts(page, reading, calls);
}

async function readTexts(page: PageText, reading: Reading, calls: PageCalls): Promise<PageAnswer> {
  const { purpose, request } = reading;
  const { values, isWhole, warnings } = await readParts(page, {
    calls,
    promptTokens: promptTokens(reading.part, request, null),
    spare: SPARE,
    async read(block, isWhole) {
      const instructions = isWhole ? reading.whole : reading.part;
      return textOf(await calls.ask({ purpose, instructions, request, data: [block], schema: null }));
    },
  });
  if (isWhole) return { value: values[0]!, warnings };
  const notes = values.filter((text) => !saysNothing(text));
  return { value: await joinNotes(notes, reading, { calls, level: 1 }), warnings };
}

/** One text of many, in groups where they do not fit into one call. */
async function joinNotes(
  notes: readonly string[],
  reading: Reading,
  { calls, level }: { calls: PageCalls; level: number },
): Promise<string> {
  const { purpose, request, joined: instructions } = reading;
  const groups = groupsThatFit(notes, calls.roomBeside(promptTokens(instructions, request, null)));
  const [first = [], ...more] = level >= MAX_LEVELS ? groups.slice(0, 1) : groups;
  if (more.length === 0) return ask(first);
  const joined: string[] = [];
  for (const group of [first, ...more]) joined.push(group.length === 1 ? group[0]! : await ask(group));
  return joinNotes(joined, reading, { calls, level: level + 1 });

  async function ask(group: readonly string[]): Promise<string> {
    const data = group.map((text, index) => ({ label: `notes on part ${index + 1}`, url: null, text }));
    const none = { label: 'notes', url: null, text: 'No part of the page speaks of it.' };
    const blocks = data.length === 0 ? [none] : data;
    return textOf(await calls.ask({ purpose, instructions, request, data: blocks, schema: null }));
  }
}

function groupsThatFit(notes: readonly string[], room: number): string[][] {
  const groups: string[][] = [];
  let tokens = Infinity;
  for (const note of notes) {
    const size = estimateTokens(note) + BLOCK_TOKENS;
    if (tokens + size > room || groups.length === 0) {
      groups.push([]);
      tokens = 0;
    }
    groups.at(-1)!.push(note);
    tokens += size;
  }
  return groups;
}

/** Marks around a block. */
const BLOCK_TOKENS = 60;

function saysNothing(text: string): boolean {
  return text.replace(/[^\p{L}]/gu, '').toUpperCase() === NO_EVIDENCE;
}

/** @throws TroupeError when the model said nothing */
function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value.trim() : '';
  if (text === '') throw new TroupeError('SCRAPE_JSON_FAILED', 'The language model answered with an empty text');
  return text;
}
