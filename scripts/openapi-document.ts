/** The OpenAPI document of the service, made without servers. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../src/app/app.ts'
import { loadConfig } from '../src/app/config.ts'
import { createContainer } from '../src/app/container.ts'

/** Never connected to: the document is made without a request. */
const NO_SERVERS = { database: { url: 'postgres://127.0.0.1:1/none' }, redis: null }

/** @returns the text of `/openapi.json`. The process must end by `process.exit()`, because the application holds timers. */
export async function openApiDocument(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-document-'))
  try {
    const config = loadConfig({ DATA_DIR: folder, LOG_LEVEL: 'silent' })
    const deps = createContainer(config, NO_SERVERS, 'check')
    const response = await createApp(deps).handle(new Request('http://localhost/openapi.json'))
    return await response.text()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
