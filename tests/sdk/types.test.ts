/** The types of the TypeScript SDK are those of the OpenAPI document. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dir, '../..')
const folder = mkdtempSync(join(tmpdir(), 'earshot-types-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('what lists have is as the service describes it; if not, run "bun scripts/sdk-types.ts"', async () => {
  const target = join(folder, 'api.generated.ts')
  const child = Bun.spawn([process.execPath, 'scripts/sdk-types.ts', target], { cwd: ROOT, stderr: 'pipe' })
  expect([await child.exited, await child.stderr.text()]).toEqual([0, ''])
  const kept = readFileSync(join(ROOT, 'sdk/typescript/src/api.generated.ts'), 'utf8')
  expect(kept).toBe(readFileSync(target, 'utf8'))
}, 300_000)
