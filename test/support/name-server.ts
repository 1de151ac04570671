/** A name server on loopback: every name is 127.0.0.1, unless it is to fail for the moment. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

const HEAD_BYTES = 12;
/** An answer, recursion available. */
const ANSWER = 0x8180;
const SERVFAIL = 2;
const TYPE_A = 1;
/** Name of the question, type A, class IN, TTL 0, the address. */
const LOOPBACK = Buffer.from([0xc0, 0x0c, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);

export class NameServer {
  /** Questions for an IPv4 address, and those of them that failed. */
  asked = 0;
  failed = 0;

  private constructor(private readonly socket: Socket) {}

  /** @param fails whether the question for this name's address is answered SERVFAIL now */
  static async start(fails: (name: string) => boolean): Promise<NameServer> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const server = new NameServer(socket);
    socket.on('message', (question, { port, address }) => socket.send(server.answer(question, fails), port, address));
    return server;
  }

  /** `ip:port` */
  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  async stop(): Promise<void> {
    const closed = once(this.socket, 'close');
    this.socket.close();
    await closed;
  }

  private answer(question: Buffer, fails: (name: string) => boolean): Buffer {
    const { name, end } = readName(question);
    const isAddress = question.readUInt16BE(end) === TYPE_A;
    const isFailure = isAddress && fails(name);
    if (isAddress) this.asked += 1;
    if (isFailure) this.failed += 1;
    const hasAddress = isAddress && !isFailure;
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt16BE(question.readUInt16BE(0), 0);
    head.writeUInt16BE(ANSWER + (isFailure ? SERVFAIL : 0), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(hasAddress ? 1 : 0, 6);
    return Buffer.concat([head, question.subarray(HEAD_BYTES, end + 4), ...(hasAddress ? [LOOPBACK] : [])]);
  }
}

function readName(question: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = HEAD_BYTES;
  for (let size = question[at]!; size > 0; size = question[at]!) {
    labels.push(question.toString('latin1', at + 1, at + 1 + size));
    at += 1 + size;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}
