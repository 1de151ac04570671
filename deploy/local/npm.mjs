/** How to call npm: the one that runs this, with the Node that runs this, else the one on PATH. */

/** @param {string[]} args @returns {{ command: string, args: string[] }} */
export function npmCall(args) {
  const script = process.env.npm_execpath;
  if (script !== undefined && /npm-cli\.[cm]?js$/.test(script))
    return { command: process.execPath, args: [script, ...args] };
  return { command: 'npm', args };
}
