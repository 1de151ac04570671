import type { HostSetting } from '@troupe/contracts';
import type pg from 'pg';
import { TableCopy } from '../table-copy.js';
import { readHostSettings } from './host-setting.repository.js';

type Settings = ReadonlyMap<string, HostSetting>;

/** A change is in force everywhere within five seconds. */
const RELOAD_MS = 2_000;

/** Settings of operators for hosts, as every scheduler, fetcher and gateway has them in memory. */
export class HostSettings {
  private constructor(private readonly table: TableCopy<Settings>) {}

  static async watch(pool: pg.Pool, onProblem: (error: unknown) => void): Promise<HostSettings> {
    const empty: Settings = new Map<string, HostSetting>();
    return new HostSettings(await TableCopy.of(empty, () => read(pool), onProblem, RELOAD_MS));
  }

  /** Setting of the host itself, else of the longest suffix that it lies below; null: the installation's hold. */
  settingOf(host: string): HostSetting | null {
    return settingOf(this.table.rows, host);
  }

  stop(): void {
    this.table.stop();
  }
}

/** `host` may have a port; a pattern without one stands for every port. */
export function settingOf(settings: Settings, host: string): HostSetting | null {
  if (settings.size === 0) return null;
  const name = host.replace(/:\d+$/, '');
  const exact = settings.get(host) ?? settings.get(name);
  if (exact !== undefined) return exact;
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
    const suffix = settings.get(`*${host.slice(dot)}`) ?? settings.get(`*${name.slice(dot)}`);
    if (suffix !== undefined) return suffix;
  }
  return null;
}

async function read(pool: pg.Pool): Promise<Settings> {
  const settings = await readHostSettings(pool);
  return new Map(settings.map((setting) => [setting.pattern, setting]));
}
