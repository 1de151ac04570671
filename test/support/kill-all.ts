import type { TestCluster } from './cluster.js';

/** Kills processes of a cluster, its launcher first, since that starts anew what ends. Resolves when the launcher is gone. */
export async function killAll(cluster: TestCluster, pids: readonly number[]): Promise<void> {
  const gone = new Promise((resolve) => cluster.launcher.once('exit', resolve));
  cluster.launcher.kill('SIGKILL');
  for (const pid of pids) kill(pid);
  await gone;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It may have ended with its launcher, or because its disk is gone.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
