/** The table of docs/administration.md: which credential, and which role of a user, each operation needs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../src/app/config.ts'
import { createContainer } from '../../src/app/container.ts'
import { createFeatures } from '../../src/app/features.ts'
import type { Operation } from '../../src/http/operation.ts'

/** Never connected to: operations are declared without a request. */
const NO_SERVERS = { database: { url: 'postgres://127.0.0.1:1/none' }, redis: null }

export async function roleTable(): Promise<string> {
  const operations = await declaredOperations()
  const byPath = operations.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
  return [
    '| Operation | Organization’s key | Role of a user |',
    '|---|---|---|',
    ...byPath.map((operation) => `| \`${operation.method} ${operation.path}\` | ${credentials(operation)} |`),
  ].join('\n')
}

function credentials({ access, role }: Operation): string {
  switch (access) {
    case 'organizationOrUser':
      return `yes | ${role}`
    case 'user':
      return `no | ${role}`
    case 'person':
      return 'no | any, with a session or a token for every organization'
    case 'organization':
      return 'yes | none'
    case 'agent':
      return 'no: the secret of an agent | none'
    case 'public':
      return 'not needed | not needed'
  }
}

async function declaredOperations(): Promise<readonly Operation[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'earshot-docs-'))
  const container = createContainer(
    loadConfig({ DATA_DIR: dataDir, LOG_LEVEL: 'silent' }),
    NO_SERVERS,
    'docs',
  )
  try {
    return createFeatures(container).operations
  } finally {
    await container.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
