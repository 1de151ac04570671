import net from 'node:net';

/** @param {number} port @param {string} host @returns {Promise<boolean>} */
export function isPortFree(port, host) {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/** @param {number} port @param {string} host @returns {Promise<boolean>} whether somebody answers there */
export function isListening(port, host) {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host });
    const end = (/** @type {boolean} */ result) => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(1_000, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

/**
 * A free port below the range that systems hand out for outgoing connections, so that it is still free when the part
 * that listened on it comes back after a crash.
 *
 * @param {string} host
 * @param {number} [remembered] taken again when it is free
 */
export async function choosePort(host, remembered) {
  if (remembered !== undefined && (await isPortFree(remembered, host))) return remembered;
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = 15_000 + Math.floor(Math.random() * 17_000);
    if (await isPortFree(port, host)) return port;
  }
  throw new Error(`no free port found on ${host}`);
}
