/**
 * `bun scripts/check-console.ts`: writes the types of the REST interface out of its OpenAPI document (types/openapi.generated.d.ts, which is
 * not in the repository), and checks the types of the console against them.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createApp } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { createContainer } from '../src/container.ts'

const ROOT = resolve(import.meta.dir, '..')
/** Never connected to: the document is made without a request. */
const NO_SERVERS = { database: { url: 'postgres://127.0.0.1:1/none' }, redis: null }

const folder = mkdtempSync(join(tmpdir(), 'earshot-console-'))
try {
  const config = loadConfig({ DATA_DIR: folder, LOG_LEVEL: 'silent' })
  const deps = createContainer(config, NO_SERVERS, 'check')
  const response = await createApp(deps).handle(new Request('http://localhost/openapi.json'))
  const document = join(folder, 'openapi.json')
  await Bun.write(document, await response.text())
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
