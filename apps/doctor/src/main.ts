/** `node dist/apps/doctor/src/main.js [--json] [--embedded]`: looks at the installation that the environment describes. */
import 'reflect-metadata';
import { examine } from './doctor.js';
import { EXIT_CODES, worstOf } from './finding.js';
import { asJson, asTable } from './report.js';

const USAGE = `usage: doctor [--json]

  Looks at settings, Postgres, NATS, blob store, DNS, Chromium, clocks, disk, open files and memory, and says how to mend
  what is wrong. --json prints {"status":"ok|warning|failure","findings":[{about,severity,found,mend}]}.

Exit codes: 0 nothing to mend, 5 warnings, 6 something does not work, 64 the command line is not right.
`;
const EXIT_USAGE = 64;
const KNOWN = ['--json', '--embedded', '--help'];

const words = process.argv.slice(2);
const stranger = words.find((word) => !KNOWN.includes(word));
if (stranger !== undefined) {
  process.stderr.write(`there is no ${stranger}\n\n${USAGE}`);
  process.exitCode = EXIT_USAGE;
} else if (words.includes('--help')) {
  process.stdout.write(USAGE);
} else {
  const findings = await examine(process.env, { isEmbedded: words.includes('--embedded') });
  const text = words.includes('--json') ? asJson(findings) : asTable(findings, process.stdout.isTTY);
  // Handles that a timed-out check left behind must not keep the process alive.
  process.stdout.write(text, () => process.exit(EXIT_CODES[worstOf(findings)]));
}
