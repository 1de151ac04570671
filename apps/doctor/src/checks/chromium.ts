import { browserEnvironment, CHROMIUM_ARGS, findBrowsers, type SandboxMode } from '@troupe/chromium';
import type { Browser } from 'playwright-core';
import { failure, fine, reasonOf, warning, type Finding } from '../finding.js';
import type { Installation } from '../installation.js';

const LAUNCH_MS = 20_000;
const INSTALL = 'Install Chromium (Debian and Ubuntu: apt-get install chromium), or set CHROMIUM_PATH.';
/** Its title appears only where the page was really shown. */
const PAGE = 'data:text/html,<title>doctor</title><script>document.title += location.protocol</script>';
const TITLE = 'doctordata:';

/** Finds Chromium and the headless shell, starts them with the fetcher's own switches, and makes them run a script. */
export async function checkChromium({ config }: Installation): Promise<Finding[]> {
  const { chromiumPath, chromiumShellPath } = config;
  const browsers = findBrowsers(config);
  if (browsers === null && chromiumPath !== undefined)
    return [failure('chromium', `CHROMIUM_PATH is ${chromiumPath}, which cannot be run`, INSTALL)];
  if (browsers === null) {
    const found = 'none: pages are fetched over HTTP only, and pages that need a browser fail';
    return [warning('chromium', found, INSTALL)];
  }
  const findings = [];
  for (const program of new Set([browsers.whole, browsers.plain]))
    findings.push(await checkProgram(program, config.browserSandbox));
  if (chromiumShellPath !== undefined && browsers.plain !== chromiumShellPath) {
    const found = `CHROMIUM_SHELL_PATH is ${chromiumShellPath}, which cannot be run`;
    findings.push(failure('chromium', found, 'Correct it, or leave it out: the shell is then looked for on PATH.'));
  }
  return findings;
}

async function checkProgram(program: string, wish: SandboxMode): Promise<Finding> {
  const isTried = process.getuid?.() !== 0 && wish !== 'off';
  const guarded = isTried ? await tryToRun(program, true) : null;
  if (guarded !== null && 'version' in guarded) return fine('chromium', `Chromium ${guarded.version} at ${program}`);
  const bare = await tryToRun(program, false);
  if ('version' in bare) return withoutSandbox(program, bare.version, wish);
  const mend =
    'Run it by hand to see more; on slim systems a library is missing (ldd names it), or /dev/shm is too small.';
  return failure('chromium', `${program} does not start: ${bare.refusal}`, mend);
}

function withoutSandbox(program: string, version: string, wish: SandboxMode): Finding {
  const found = `Chromium ${version} at ${program}`;
  if (wish === 'off')
    return warning(
      'chromium',
      `${found}, its sandbox switched off (BROWSER_SANDBOX=off)`,
      'Set it to require or auto.',
    );
  const isRoot = process.getuid?.() === 0;
  const mend = isRoot
    ? 'Run fetchers as an ordinary user: as root Chromium has no sandbox.'
    : 'Allow user namespaces to this user (kernel.unprivileged_userns_clone, or a seccomp profile): Chromium’s sandbox needs them.';
  if (wish === 'require')
    return failure(
      'chromium',
      `${found} does not start with its sandbox, which BROWSER_SANDBOX=require asks for`,
      mend,
    );
  return warning('chromium', `${found}, without its sandbox`, mend);
}

/** The version of a browser that has shown a page, else why it has not. */
type Attempt = { version: string } | { refusal: string };

async function tryToRun(program: string, chromiumSandbox: boolean): Promise<Attempt> {
  const { chromium } = await import('playwright-core');
  let browser: Browser | null = null;
  try {
    browser = await chromium.launch({
      executablePath: program,
      args: [...CHROMIUM_ARGS],
      chromiumSandbox,
      env: browserEnvironment(),
      timeout: LAUNCH_MS,
    });
    const page = await browser.newPage();
    await page.goto(PAGE, { timeout: LAUNCH_MS });
    const title = await page.title();
    return title === TITLE
      ? { version: browser.version() }
      : { refusal: `a page with a script has the title "${title}"` };
  } catch (error) {
    return { refusal: reasonOf(error) };
  } finally {
    await browser?.close().catch(() => undefined);
  }
}
