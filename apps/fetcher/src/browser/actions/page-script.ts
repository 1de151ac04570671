/** A caller's script in the page's own world: the body of an async function, or a single expression. */
import { Script } from 'node:vm';
import type { Stage } from '../stage.js';
import { ActionFailure } from './action-failure.js';

const MAX_VALUE_CHARS = 1024 * 1024;

/** Runs in the page: the type of a value and its JSON; null for a value without JSON. */
const PACK = `(value) => {
  const type = typeof value;
  if (type === 'bigint') return { type, json: JSON.stringify(String(value)) };
  let json;
  try { json = JSON.stringify(value) ?? null; } catch { json = null; }
  return json !== null && json.length > ${MAX_VALUE_CHARS} ? { type, chars: json.length } : { type, json };
}`;

type Packed = { type: string; json: string | null } | { type: string; chars: number };

/**
 * Values without JSON, such as `undefined`, functions and circles, become null. @throws ActionFailure for an error of
 * the script
 */
export async function runScript(
  { page, room, signal }: Stage,
  script: string,
): Promise<{ type: string; value: unknown }> {
  const session = await page.context().newCDPSession(page);
  // A page whose script never ends cannot be closed, and takes its browser with it.
  const terminate = (): void => void session.send('Runtime.terminateExecution').catch(() => undefined);
  signal.addEventListener('abort', terminate, { once: true });
  try {
    const expression = `(async () => (${PACK})(await (async () => { ${bodyOf(script)}\n })()))()`;
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
      userGesture: true,
    });
    if (exceptionDetails !== undefined) throw new ActionFailure(`the script threw ${thrown(exceptionDetails)}`);
    const packed = result.value as Packed;
    if ('chars' in packed || !room.takeText(packed.json?.length ?? 0)) {
      throw new ActionFailure(`the script's value is too large: its JSON may have ${MAX_VALUE_CHARS} characters`);
    }
    return { type: packed.type, value: packed.json === null ? null : (JSON.parse(packed.json) as unknown) };
  } finally {
    signal.removeEventListener('abort', terminate);
    await session.detach().catch(() => undefined);
  }
}

function bodyOf(script: string): string {
  const expression = script.replace(/[;\s]+$/, '');
  return isExpression(expression) ? `return (${expression}\n);` : script;
}

/**
 * The text is only parsed here, and never run outside of the page. Syntax that this parser does not know is left to the
 * page's own.
 */
function isExpression(text: string): boolean {
  try {
    new Script(`async () => (${text}\n)`);
    return true;
  } catch {
    return false;
  }
}

interface Exception {
  text: string;
  exception?: { description?: string; value?: unknown };
}

function thrown({ text, exception }: Exception): string {
  const [named = ''] = text.replace(/^Uncaught (\(in promise\) ?)?/, '').split('\n');
  if (named !== '' && exception?.description === undefined) return named;
  return (exception?.description ?? JSON.stringify(exception?.value) ?? 'an exception').split('\n')[0] ?? '';
}
