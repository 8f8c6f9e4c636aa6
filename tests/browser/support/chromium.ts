/** A Chromium of its own for a test file, with an empty profile. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium } from 'playwright-core'

/** Without talk to anybody but the pages: what is on by default looks for servers that a test machine may not reach. */
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export interface TestBrowser {
  readonly context: BrowserContext
  close(): Promise<void>
}

/** @throws Error where the machine has none */
export async function startBrowser(): Promise<TestBrowser> {
  const executablePath = process.env.TEST_CHROMIUM || Bun.which('chromium') || Bun.which('google-chrome')
  if (!executablePath) throw new Error('TEST_CHROMIUM is not set: run the tests with "bun run check"')
  const profile = mkdtempSync(join(tmpdir(), 'earshot-browser-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    args: ARGUMENTS,
  })
  return {
    context,
    async close() {
      await context.close()
      rmSync(profile, { recursive: true, force: true })
    },
  }
}
