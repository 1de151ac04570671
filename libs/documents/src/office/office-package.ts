/** Parts of an OOXML file and how they refer to each other. */
import { childrenNamed, childAt, decodeXml, parseXml, textOf, type XmlElement } from '../xml.js';
import { type ZipArchive } from '../zip-archive.js';

export interface Relation {
  type: string;
  /** Name of a member, or an address outside. */
  target: string;
}

export class OfficePackage {
  constructor(readonly archive: ZipArchive) {}

  xml(name: string): XmlElement | null {
    const bytes = this.archive.read(name);
    return bytes === null ? null : parseXml(decodeXml(bytes));
  }

  /** Relations of a part, by id. */
  relations(part: string): Map<string, Relation> {
    const slash = part.lastIndexOf('/');
    const folder = part.slice(0, slash + 1);
    const relations = new Map<string, Relation>();
    const file = this.xml(`${folder}_rels/${part.slice(slash + 1)}.rels`);
    for (const { attributes } of childrenNamed(file, 'Relationship')) {
      const { Id: id = '', Target: target = '', Type: type = '', TargetMode: mode } = attributes;
      const isOutside = mode === 'External';
      relations.set(id, {
        type: type.slice(type.lastIndexOf('/') + 1),
        target: isOutside ? target : joinPath(folder, target),
      });
    }
    return relations;
  }

  /** The part that the whole package is about. */
  mainPart(usual: string): string {
    const main = [...this.relations('').values()].find(({ type }) => type === 'officeDocument');
    return main !== undefined && this.archive.has(main.target) ? main.target : usual;
  }

  /** docProps/core.xml, in the words of docs/api/formats.md. */
  properties(): { title: string | null; metadata: Record<string, string> } {
    const core = this.xml('docProps/core.xml');
    const read = (name: string): string => textOf(childAt(core, name)).trim();
    return {
      title: read('title') || null,
      metadata: compact({
        author: read('creator'),
        description: read('description'),
        keywords: read('keywords'),
        language: read('language'),
        dcSubject: read('subject'),
        dcTermsCreated: read('created'),
        modifiedTime: read('modified'),
      }),
    };
  }
}

/** The entries that are not empty. */
export function compact(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
}

/** `target` seen from `folder`; a leading slash is the root of the archive. */
export function joinPath(folder: string, target: string): string {
  const steps: string[] = [];
  const path = target.startsWith('/') ? target : folder + target;
  for (const step of path.split('/')) {
    if (step === '..') steps.pop();
    else if (step !== '' && step !== '.') steps.push(step);
  }
  return steps.join('/');
}

/** The id with which an element refers to another part: `r:id`, never its own `id`. */
export function relationId(element: XmlElement, name = 'id'): string {
  const suffix = `:${name}`;
  return Object.entries(element.attributes).find(([key]) => key.endsWith(suffix))?.[1] ?? '';
}
