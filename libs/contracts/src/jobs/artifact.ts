/** Where a gateway answers with files that documents point to. */
export const ARTIFACT_ROUTE = 'artifacts';

const PATH = /^(\d{10})\/([0-9a-f]{2})\/(\2[0-9a-f]{62})\.[a-z]{3}$/;

/** @param key of the store @param extension for a client that saves the file */
export function artifactPath(key: string, extension: 'png' | 'jpg' | 'pdf'): string {
  return `/${ARTIFACT_ROUTE}/${key}.${extension}`;
}

/** The key again, and the hour (`yyyymmddhh`) in which the file goes. @param path what follows the route; null: no such path */
export function parseArtifactPath(path: string): { key: string; hour: string } | null {
  const [, hour, shard, name] = PATH.exec(path) ?? [];
  return hour === undefined ? null : { key: `${hour}/${shard}/${name}`, hour };
}
