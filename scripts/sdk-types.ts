/**
 * `bun scripts/sdk-types.ts [TARGET]`: writes the types of what the reading client of the TypeScript SDK lists, out of the OpenAPI document.
 * TARGET is sdk/typescript/src/api.generated.ts unless given. Run it after a change of these objects; a test compares.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { openApiDocument } from './openapi-document.ts'

const ROOT = resolve(import.meta.dir, '..')

/** Pages of lists. */
const LISTED = [
  'AgentSessionPage',
  'SignalPage',
  'RecordingItemPage',
  'FeedbackRecordPage',
  'PersonPage',
  'ThemesPage',
  'FoundPassages',
]

interface Document {
  readonly openapi: string
  readonly info: unknown
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> }
}

const target = resolve(process.argv[2] ?? join(ROOT, 'sdk/typescript/src/api.generated.ts'))
const folder = mkdtempSync(join(tmpdir(), 'earshot-sdk-types-'))
try {
  const { openapi, info, components } = JSON.parse(await openApiDocument()) as Document
  const schemas = Object.fromEntries(
    [...closureOf(LISTED, components.schemas)].sort().map((name) => [name, components.schemas[name]]),
  )
  const part = join(folder, 'openapi.json')
  await Bun.write(part, JSON.stringify({ openapi, info, paths: {}, components: { schemas } }))
  const command = [process.execPath, 'scripts/openapi-types.ts', part, target]
  const { exitCode } = Bun.spawnSync(command, { cwd: ROOT, stdout: 'inherit', stderr: 'inherit' })
  process.exitCode = exitCode
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit()

/** These schemas and all that they refer to. */
function closureOf(
  names: readonly string[],
  schemas: Document['components']['schemas'],
): ReadonlySet<string> {
  const all = new Set<string>()
  const open = [...names]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (all.has(name)) continue
    if (schemas[name] === undefined) throw new Error(`the document has no schema ${name}`)
    all.add(name)
    const text = JSON.stringify(schemas[name])
    open.push(...Array.from(text.matchAll(/"#\/components\/schemas\/(\w+)"/g), ([, found = '']) => found))
  }
  return all
}
