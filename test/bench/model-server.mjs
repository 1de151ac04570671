/** A scripted model in a process of its own: answers every request after MODEL_MS. Prints its address. */
import { startModelServer } from '../../dist/test/support/model-server/index.js';

const delayMs = Number(process.env.MODEL_MS);
const value = { name: 'Lamp', price: 9.5 };
const server = await startModelServer({
  brain: ({ schema }) => ({
    delayMs,
    usage: { prompt: 100, answer: 10 },
    ...(schema ? { value } : { text: 'A lamp.' }),
  }),
});
process.stdout.write(`${server.url}\n`);
process.on('disconnect', () => process.exit(0));
process.on('message', () => {
  // Requests are recorded for assertions; here they would only fill memory.
  server.requests.length = 0;
  process.send?.('cleared');
});
