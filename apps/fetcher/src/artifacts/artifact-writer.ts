/** Stores the pictures and PDFs that a page brought, and puts their addresses in their place. */
import { blobHour, isArtifactType, type Artifact, type ArtifactType, type Artifacts } from '@troupe/blob-store';
import { artifactPath, TroupeError, type Captured } from '@troupe/contracts';
import type { FileKeeper } from '../browser/browser.engine.js';

export interface ArtifactWriterParts {
  artifacts: Pick<Artifacts, 'put'>;
  /** Address at which the gateways are reached from outside. */
  publicBaseUrl: string;
  /** A file lives as long as the result that points to it. */
  resultTtlHours: number;
  /** @default Date.now */
  wallMs?: () => number;
}

const EXTENSIONS = { 'image/png': 'png', 'image/jpeg': 'jpg', 'application/pdf': 'pdf' } as const satisfies Record<
  ArtifactType,
  string
>;
const DATA_URI = /^data:([a-z/]+);base64,/;

export class ArtifactWriter implements FileKeeper {
  private readonly base: string;

  constructor(private readonly parts: ArtifactWriterParts) {
    this.base = parts.publicBaseUrl.replace(/\/+$/, '');
  }

  async keep(captured: Captured): Promise<Captured> {
    const { screenshot, actions } = captured;
    try {
      return {
        ...captured,
        ...(screenshot === undefined ? {} : { screenshot: await this.addressOf(screenshot) }),
        ...(actions === undefined
          ? {}
          : {
              actions: {
                ...actions,
                screenshots: await this.addressesOf(actions.screenshots),
                pdfs: await this.addressesOf(actions.pdfs),
              },
            }),
      };
    } catch (error) {
      const options = { cause: error, httpStatus: 503, retryable: true };
      throw new TroupeError('UNKNOWN_ERROR', 'pictures and files of the page cannot be stored now', options);
    }
  }

  /** Stores one file after the other, because together they may be large. */
  private async addressesOf(uris: readonly string[]): Promise<string[]> {
    const addresses: string[] = [];
    for (const uri of uris) addresses.push(await this.addressOf(uri));
    return addresses;
  }

  private async addressOf(uri: string): Promise<string> {
    const { resultTtlHours, wallMs = Date.now } = this.parts;
    const artifact = artifactOf(uri);
    const key = await this.parts.artifacts.put(artifact, blobHour(wallMs(), resultTtlHours));
    return `${this.base}${artifactPath(key, EXTENSIONS[artifact.type])}`;
  }
}

/** @throws RangeError for a type that a browser does not make */
function artifactOf(uri: string): Artifact {
  const [head = '', type = ''] = DATA_URI.exec(uri) ?? [];
  if (!isArtifactType(type)) throw new RangeError(`not a data URI of a picture or a PDF: ${uri.slice(0, 40)}`);
  return { type, bytes: Buffer.from(uri.slice(head.length), 'base64') };
}
