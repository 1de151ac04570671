/** Programs that a suite would like to have and that Debian has a package of. */
import { spawnSync } from 'node:child_process';

const INSTALL_MS = 180_000;

/** By one of these a program tells its version. */
const VERSION_FLAGS = ['--version', '-v'];

/** Whether a program is there and runs. */
function canRun(program: string): boolean {
  return VERSION_FLAGS.some((flag) => spawnSync(program, [flag], { stdio: 'ignore' }).status === 0);
}

/** Whether all the programs are there; tries to install the packages when it may. */
export function hasPrograms(programs: readonly string[], packages: readonly string[]): boolean {
  if (programs.every(canRun)) return true;
  if (process.getuid?.() !== 0 || !canRun('apt-get')) return false;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args: string[]) =>
    spawnSync('apt-get', ['-o', 'DPkg::Lock::Timeout=120', ...args], { stdio: 'ignore', env, timeout: INSTALL_MS })
      .status === 0;
  const install = () => apt('install', '-y', '--no-install-recommends', ...packages);
  if (!install()) {
    apt('update');
    install();
  }
  return programs.every(canRun);
}
