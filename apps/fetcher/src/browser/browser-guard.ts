/**
 * Ties a browser's life to this process, however this process ends.
 *
 * The browser is started by a small shell script that leads its process group. A watcher inside the group waits on a
 * FIFO whose only writer is this process: when the writing end closes, by `release` or because the kernel closed it
 * after a kill -9, the watcher kills the whole group: the browser first, then what it leaves behind, and removes the
 * profile once no process writes to it any more. As a member it also keeps the group's number from being reused.
 */
import { browserEnvironment } from '@troupe/chromium';
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const GUARD_SCRIPT = `#!/bin/sh
echo $$ > "\${TROUPE_LIFELINE%/*}/pid"
(
  exec </dev/null >/dev/null 2>&1 3>&- 4>&-
  trap '' HUP INT TERM
  read -r gone < "$TROUPE_LIFELINE"
  kill -KILL $$
  kill -TERM -- -$$
  for round in 1 2 3; do
    profile=
    for argument in "$@"; do
      case "$argument" in --user-data-dir=*/playwright_chromiumdev_profile-*) profile="\${argument#*=}" ;; esac
    done
    rm -rf -- "\${profile:-/nonexistent}" "\${TROUPE_LIFELINE%/*}"
    sleep 1
    [ -e "\${profile:-/nonexistent}" ] || break
  done
  kill -KILL -- -$$
) &
exec "$TROUPE_BROWSER" "$@"
`;

export class BrowserGuard {
  /** Folder for temporary files of the browser and of Playwright; removed with the browser. */
  readonly dir: string;
  private lifeline: number | null;
  private startedPid: number | null = null;

  /** @throws when no FIFO can be made in the folder for temporary files */
  constructor(private readonly browserPath: string) {
    this.dir = mkdtempSync(path.join(tmpdir(), 'troupe-browser-'));
    writeFileSync(this.executablePath, GUARD_SCRIPT, { mode: 0o700 });
    const made = spawnSync('mkfifo', ['-m', '600', this.fifoPath], { env: browserEnvironment() });
    if (made.status !== 0) throw new Error('mkfifo failed; the browser cannot be supervised');
    this.lifeline = openSync(this.fifoPath, 'r+');
  }

  /** The script to start in the browser's place. */
  get executablePath(): string {
    return path.join(this.dir, 'browser.sh');
  }

  /** Process id of the browser, which leads a process group; null until it has started and after its release. */
  get pid(): number | null {
    try {
      this.startedPid ??= Number(readFileSync(path.join(this.dir, 'pid'), 'latin1')) || null;
    } catch {
      return null;
    }
    return this.lifeline === null ? null : this.startedPid;
  }

  /** Temporary files of the browser land in the guard's folder and go with it. */
  get env(): Record<string, string> {
    const own = { TMPDIR: this.dir, TROUPE_BROWSER: this.browserPath, TROUPE_LIFELINE: this.fifoPath };
    return { ...browserEnvironment(), ...own };
  }

  /** Kills the rest of the browser's process group; safe to call twice. */
  release(): void {
    if (this.lifeline === null) return;
    closeSync(this.lifeline);
    this.lifeline = null;
    rmSync(this.dir, { recursive: true, force: true });
  }

  private get fifoPath(): string {
    return path.join(this.dir, 'lifeline');
  }
}
