/** What a published client is started with. */
import { type RunningCluster } from '../support/cluster.js';

/** Everything that could make a client talk to anybody else is set or off. */
export function clientEnvironment(
  { url, apiKey }: Pick<RunningCluster, 'url' | 'apiKey'>,
  home: string,
): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: home,
    FIRECRAWL_API_KEY: apiKey,
    FIRECRAWL_API_URL: url,
    FIRECRAWL_NO_UPDATE_CHECK: '1',
    NO_COLOR: '1',
  };
}
