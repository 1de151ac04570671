/** Each provider's package is loaded when its first model is used. */
import type { ModelAccess } from '@troupe/contracts';
import type { OpenClient } from './provider.js';

const LOADERS: Record<ModelAccess['provider'], () => Promise<OpenClient>> = {
  openai: async () => (await import('./openai.js')).openOpenAi,
  azure: async () => (await import('./openai.js')).openOpenAi,
  anthropic: async () => (await import('./anthropic.js')).openAnthropic,
  google: async () => (await import('./google.js')).openGoogle,
  ollama: async () => (await import('./ollama.js')).openOllama,
};

export const openClient: OpenClient = async (access, options) => {
  silenceTracing();
  const open = await LOADERS[access.provider]();
  return open(access, options);
};

/**
 * Turns tracing off: langchain would send its data to a service, or all requests through one, when the environment
 * names it.
 */
function silenceTracing(): void {
  for (const name of Object.keys(process.env)) {
    if (/^(LANGCHAIN|LANGSMITH)_/.test(name)) delete process.env[name];
  }
}
