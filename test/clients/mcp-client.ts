/** A program that speaks the Model Context Protocol over its standard input and output. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';

const PROTOCOL = '2025-06-18';

interface ToolAnswer {
  content: { type: string; text: string }[];
  isError?: boolean;
}

interface Answer {
  id?: number;
  result?: unknown;
  error?: { message: string };
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** JSON-RPC, a line each way. */
export class McpClient {
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly waiting = new Map<number, Waiting>();
  private nextId = 1;
  private said = '';

  constructor(program: string, env: NodeJS.ProcessEnv) {
    this.child = spawn(process.execPath, [program], { env });
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.said = (this.said + text).slice(-4000)));
    createInterface({ input: this.child.stdout }).on('line', (line) => this.settle(JSON.parse(line) as Answer));
    this.child.once('exit', (code) => this.failAll(new Error(`the MCP server ended with ${code}: ${this.said}`)));
  }

  async open(): Promise<void> {
    const clientInfo = { name: 'troupe-specs', version: '1' };
    await this.ask('initialize', { protocolVersion: PROTOCOL, capabilities: {}, clientInfo });
    this.send({ method: 'notifications/initialized' });
  }

  async tools(): Promise<string[]> {
    const { tools } = await this.ask<{ tools: { name: string }[] }>('tools/list', {});
    return tools.map(({ name }) => name);
  }

  /** The text of a tool's answer. @throws Error with that text when the tool says that it failed */
  async call(name: string, args: object): Promise<string> {
    const answer = await this.ask<ToolAnswer>('tools/call', { name, arguments: args });
    const text = answer.content.map((part) => part.text).join('\n');
    if (answer.isError) throw new Error(text);
    return text;
  }

  /** The same, of a tool that answers with JSON. */
  async json<T>(name: string, args: object): Promise<T> {
    return JSON.parse(await this.call(name, args)) as T;
  }

  close(): void {
    this.child.kill('SIGTERM');
  }

  private ask<T>(method: string, params: object): Promise<T> {
    const id = this.nextId++;
    const answer = new Promise<T>((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    this.send({ id, method, params });
    return answer;
  }

  private settle({ id, result, error }: Answer): void {
    if (id === undefined) return;
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error.message));
  }

  private failAll(error: Error): void {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  private send(message: object): void {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}
