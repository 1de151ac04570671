/** One JSON log line as one readable line, for terminals. */

const LEVELS: Record<number, { name: string; colour: number }> = {
  10: { name: 'TRACE', colour: 90 },
  20: { name: 'DEBUG', colour: 36 },
  30: { name: 'INFO', colour: 32 },
  40: { name: 'WARN', colour: 33 },
  50: { name: 'ERROR', colour: 31 },
  60: { name: 'FATAL', colour: 35 },
};
const SHOWN_APART = new Set(['level', 'time', 'service', 'instance', 'pid', 'hostname', 'msg', 'err']);

const paint = (text: string, colour: number, colours: boolean): string =>
  colours ? `\x1b[${colour}m${text}\x1b[0m` : text;

function showValue(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

function showError(err: unknown): string {
  if (typeof err !== 'object' || err === null) return '';
  const { stack, message } = err as { stack?: unknown; message?: unknown };
  const text = typeof stack === 'string' ? stack : typeof message === 'string' ? message : JSON.stringify(err);
  return `\n    ${text.replaceAll('\n', '\n    ')}`;
}

/** Anything that is not a JSON log object comes back unchanged. */
export function prettyLine(line: string, colours: boolean): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return line;
  }
  const level = LEVELS[Number(entry.level)] ?? { name: String(entry.level), colour: 0 };
  const time = new Date(Number(entry.time)).toISOString().slice(11, 23);
  const rest = Object.entries(entry)
    .filter(([key]) => !SHOWN_APART.has(key))
    .map(([key, value]) => ` ${paint(`${key}=`, 90, colours)}${showValue(value)}`)
    .join('');
  const name = paint(level.name.padEnd(5), level.colour, colours);
  const msg = typeof entry.msg === 'string' ? entry.msg : '';
  return `${paint(time, 90, colours)} ${name} ${msg}${rest}${showError(entry.err)}\n`;
}
