/** The part of WebAssembly that is used here; TypeScript knows it from browsers only. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: unknown };
};

export interface Memory {
  /** Another one whenever the memory grows. */
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

const PAGE_BYTES = 65536;

/** Exports of a module without imports. @param base64 of a `.data.ts` */
export function instantiate<Exports>(base64: string): Exports {
  return new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(base64, 'base64'))).exports as Exports;
}

export function reserve(memory: Memory, bytes: number): void {
  const lacking = bytes - memory.buffer.byteLength;
  if (lacking > 0) memory.grow(Math.ceil(lacking / PAGE_BYTES));
}
