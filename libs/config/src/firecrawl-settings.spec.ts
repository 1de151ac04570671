import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { FIRECRAWL_SETTINGS, leftOverSettings, type FirecrawlSetting } from './firecrawl-settings.js';
import { configFields, environmentName, readConfig } from './read-config.js';

const NEEDED = { DATABASE_URL: 'postgresql://127.0.0.1/x', NATS_URL: 'nats://127.0.0.1:4222' };
const GUIDE = readFileSync('docs/migrate-from-firecrawl.md', 'utf8');
const HEADS = { same: 'the same', alias: 'read', ignored: 'no effect' };

/** A value that each setting which is read may have. */
const SAMPLES: Record<string, string> = {
  PORT: '3999',
  HOST: '127.0.0.2',
  OPENAI_API_KEY: 'sk-1',
  OPENAI_BASE_URL: 'http://10.0.0.1:8000/v1',
  OLLAMA_BASE_URL: 'http://10.0.0.1:11434/api',
  MODEL_NAME: 'm',
  SEARXNG_ENDPOINT: 'http://10.0.0.1:8080',
  PROXY_SERVER: '10.0.0.1:3128',
  PROXY_USERNAME: 'me',
  PROXY_PASSWORD: 'secret',
};
/** Without these some of the others say nothing. */
const COMPANIONS: Record<string, Record<string, string>> = {
  OPENAI_API_KEY: { MODEL_NAME: 'm' },
  OPENAI_BASE_URL: { MODEL_NAME: 'm' },
  OLLAMA_BASE_URL: { MODEL_NAME: 'm' },
  PROXY_USERNAME: { PROXY_SERVER: '10.0.0.1:3128' },
  PROXY_PASSWORD: { PROXY_SERVER: '10.0.0.1:3128', PROXY_USERNAME: 'me' },
};

function cells({ name, becomes, ours, note }: FirecrawlSetting): string[] {
  return [`\`${name}\``, HEADS[becomes], ours === undefined ? '' : `\`${ours}\``, note];
}

describe('the settings of a self-hosted Firecrawl', () => {
  const names = FIRECRAWL_SETTINGS.map(({ name }) => name);

  it('are listed once each, and lead to settings that there are', () => {
    expect(new Set(names).size).toBe(names.length);
    const known = configFields().map(environmentName);
    for (const { ours } of FIRECRAWL_SETTINGS) if (ours !== undefined) expect(known).toContain(ours);
  });

  it('are in the guide as they are here', () => {
    const rows = GUIDE.split('\n')
      .filter((line) => /^\| `[A-Z_]+`/.test(line))
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
    expect(rows).toEqual(FIRECRAWL_SETTINGS.map(cells));
  });

  it.each(FIRECRAWL_SETTINGS.filter(({ becomes }) => becomes !== 'ignored'))(
    '$name changes $ours',
    ({ name, ours }) => {
      const without = { ...NEEDED, ...COMPANIONS[name] };
      const config = readConfig({ ...without, [name]: SAMPLES[name] });
      const field = configFields().find((each) => environmentName(each) === ours) as keyof typeof config;
      expect(config[field]).not.toEqual(readConfig(without)[field]);
      expect(leftOverSettings({ ...without, [name]: SAMPLES[name] })).toEqual([]);
    },
  );

  it.each(FIRECRAWL_SETTINGS.filter(({ becomes }) => becomes === 'ignored'))(
    '$name changes nothing and is said so',
    ({ name }) => {
      const env = { ...NEEDED, [name]: 'a-value' };
      expect(readConfig(env)).toEqual(readConfig(NEEDED));
      const said = leftOverSettings(env);
      expect(said).toEqual([expect.stringContaining(`${name} has no effect`)]);
      expect(said.join()).not.toContain('a-value');
    },
  );

  it('say nothing when they are empty, and something when a key comes without a model', () => {
    expect(leftOverSettings({ REDIS_URL: '', OPENAI_API_KEY: '' })).toEqual([]);
    expect(leftOverSettings({ OPENAI_API_KEY: 'sk-1' })).toEqual([
      expect.stringMatching(/^OPENAI_API_KEY.*MODEL_NAME/),
    ]);
    expect(leftOverSettings({ OPENAI_API_KEY: 'sk-1', LLM_PROVIDER: 'none' })).toEqual([]);
  });
});
