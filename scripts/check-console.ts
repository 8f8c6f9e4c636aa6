/**
 * `bun scripts/check-console.ts`: writes the types of the REST interface out of its OpenAPI document (types/openapi.generated.d.ts, which is
 * not in the repository), and checks the types of the console against them.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { openApiDocument } from './openapi-document.ts'

const ROOT = resolve(import.meta.dir, '..')

const folder = mkdtempSync(join(tmpdir(), 'earshot-console-'))
try {
  const document = join(folder, 'openapi.json')
  await Bun.write(document, await openApiDocument())
  const isDone =
    run('scripts/openapi-types.ts', document, 'types/openapi.generated.d.ts') &&
    run('node_modules/.bin/tsc', '-p', 'src/console/app')
  process.exitCode = isDone ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit()

function run(...command: readonly string[]): boolean {
  const { exitCode } = Bun.spawnSync([process.execPath, ...command], {
    cwd: ROOT,
    stdout: 'inherit',
    stderr: 'inherit',
  })
  return exitCode === 0
}
