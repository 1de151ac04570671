/** Findings as people read them. */
import { type Finding, type Severity, worstOf } from './finding.js';

const MARKS: Record<Severity, string> = { ok: 'ok', skipped: '-', warning: 'warn', failure: 'FAIL' };
const COLOURS: Record<Severity, number> = { ok: 32, skipped: 90, warning: 33, failure: 31 };
const VERDICTS: Record<Severity, string> = {
  ok: 'Nothing to mend.',
  skipped: 'Nothing to mend.',
  warning: 'It works; what is marked with "warn" should be looked at.',
  failure: 'It does not work before what is marked with FAIL is mended.',
};

/** A line for each finding, with the advice below. */
export function asTable(findings: readonly Finding[], colours: boolean): string {
  const width = Math.max(...findings.map(({ about }) => about.length));
  const lines = findings.flatMap(({ about, severity, found, mend }) => {
    const mark = MARKS[severity].padEnd(4);
    const shown = colours ? `\x1b[${COLOURS[severity]}m${mark}\x1b[0m` : mark;
    const line = `${shown}  ${about.padEnd(width)}  ${found}`;
    return mend === undefined ? [line] : [line, `${' '.repeat(6 + width + 2)}-> ${mend}`];
  });
  return `${lines.join('\n')}\n\n${VERDICTS[worstOf(findings)]}\n`;
}

export function asJson(findings: readonly Finding[]): string {
  return `${JSON.stringify({ status: worstOf(findings), findings }, null, 2)}\n`;
}
