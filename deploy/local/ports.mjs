import dgram from 'node:dgram';
import net from 'node:net';

const LOOPBACK = '127.0.0.1';
/** Below what systems hand out for outgoing connections, so that a port is still free when its server comes back after a crash. */
const RANGE = { from: 15_000, to: 32_000 };

/** Sockets that hold a port for this process. @type {Map<number, dgram.Socket>} */
const claims = new Map();

/**
 * Keeps other launchers of this machine off a port until this process ends, since between the choice of a port and its use by a
 * server seconds pass. The claim is the same number in UDP, which the system gives to one process and takes back at its end.
 *
 * @param {number} port
 * @returns {Promise<boolean>} false when another process has it
 */
function claimPort(port) {
  if (claims.has(port)) return Promise.resolve(true);
  return new Promise((resolve) => {
    const socket = dgram.createSocket('udp4');
    socket.once('error', () => {
      socket.close();
      resolve(false);
    });
    socket.bind({ port, address: LOOPBACK, exclusive: true }, () => {
      claims.set(port, socket.unref());
      resolve(true);
    });
  });
}

/** @param {number} port @param {string} host @returns {Promise<boolean>} */
export function isPortFree(port, host) {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/** @param {number} port @param {string} host @returns {Promise<boolean>} whether a server answers there */
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

/** @param {number} port @param {string} host */
async function takePort(port, host) {
  return (await isPortFree(port, host)) && (await claimPort(port));
}

/**
 * A free port that no other launcher chooses while this process lives.
 *
 * @param {string} host
 * @param {number} [remembered] taken again when it is free
 * @param {{ from: number, to: number }} [range] `to` is not in it
 */
export async function choosePort(host, remembered, range = RANGE) {
  if (remembered !== undefined && (await takePort(remembered, host))) return remembered;
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = range.from + Math.floor(Math.random() * (range.to - range.from));
    if (!claims.has(port) && (await takePort(port, host))) return port;
  }
  throw new Error(`no free port found on ${host}`);
}
