const PASSED_ON = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'FONTCONFIG_PATH', 'FONTCONFIG_FILE', 'LD_LIBRARY_PATH'];

/** The part of our environment that a browser gets: no keys, no addresses of databases. */
export function browserEnvironment(own: Record<string, string | undefined> = process.env): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of PASSED_ON) {
    const value = own[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}
