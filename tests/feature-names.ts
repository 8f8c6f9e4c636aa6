/**
 * The search of `tests/architecture.test.ts` for names of features in code that must not know any, and the words among these
 * names that have another meaning there.
 */

/** The names that occur in the identifiers and texts of the code, in snake_case, camelCase or PascalCase, singular or plural. */
export function namesIn(code: string, names: readonly string[]): readonly string[] {
  const longestFirst = names.toSorted((a, b) => b.length - a.length)
  const name = new RegExp(`(?<![a-z0-9])(${longestFirst.join('|')})s?(?![a-z0-9])`, 'g')
  const snake = code
    .replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, '')
    .replaceAll(/\bfrom '[^']*'/g, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
  return [...new Set([...snake.matchAll(name)].map(([, found = '']) => found))]
}

interface OrdinaryWord {
  readonly name: string
  /** The folder or file in which it has this meaning. */
  readonly path: string
  readonly reason: string
}

export const ORDINARY_WORDS: readonly OrdinaryWord[] = [
  { name: 'organization', path: 'src/actors/', reason: 'The tenant, which every statement names.' },
  { name: 'organizations', path: 'src/actors/', reason: 'Tenants share the workers fairly.' },
  { name: 'media', path: 'src/actors/', reason: 'A pool of workers for turns that take hours.' },
  { name: 'content', path: 'src/actors/thread.ts', reason: 'The contents of a thread.' },
  {
    name: 'media',
    path: 'src/platform/',
    reason: 'Media types, and the folder and signature of stored files.',
  },
  {
    name: 'ask',
    path: 'src/platform/',
    reason: 'To ask a part of the service, such as a database, how it is.',
  },
  {
    name: 'identity',
    path: 'src/platform/db/pool.ts',
    reason: 'The check of the identity of a server by its certificate.',
  },
  { name: 'ask', path: 'src/actors/', reason: 'What a sweep asks the table for.' },
  { name: 'findings', path: 'src/platform/validation/', reason: 'What a validation found.' },
  { name: 'content', path: 'src/platform/', reason: 'Headers such as Content-Type, and bytes to store.' },
  { name: 'folder', path: 'src/platform/', reason: 'Folders of the file system.' },
  { name: 'search', path: 'src/platform/', reason: 'The parameters of a URL (`searchParams`).' },
  { name: 'folders', path: 'src/platform/', reason: 'Folders of the file system.' },
  { name: 'identity', path: 'src/platform/net/', reason: 'The content coding of HTTP.' },
  { name: 'counts', path: 'src/platform/', reason: 'The verb: what is counted.' },
  { name: 'api_key', path: 'src/platform/net/', reason: 'The key of another service.' },
  { name: 'api_key', path: 'src/platform/observability/log.ts', reason: 'Members that logs must not show.' },
  { name: 'client', path: 'src/platform/storage/', reason: 'The client of S3.' },
  { name: 'metadata', path: 'src/platform/storage/', reason: 'A member of answers of the S3 client.' },
  { name: 'upload', path: 'src/platform/storage/', reason: 'A multipart upload of S3.' },
  { name: 'uploads', path: 'src/platform/storage/', reason: 'Multipart uploads of S3.' },
  { name: 'upload_part', path: 'src/platform/storage/', reason: 'A part of a multipart upload of S3.' },
]
