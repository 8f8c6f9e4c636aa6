/** A real browser with its own profile. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium } from 'playwright-core'

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

export interface Chromium {
  readonly context: BrowserContext
  stop(): Promise<void>
}

/** `TEST_CHROMIUM`, or the browser on the PATH. @throws Error if there is none */
export async function startChromium(): Promise<Chromium> {
  const profile = mkdtempSync(join(tmpdir(), 'earshot-browser-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: findChromium(),
    headless: true,
    args: ARGUMENTS,
  })
  return {
    context,
    async stop() {
      await context.close()
      rmSync(profile, { recursive: true, force: true })
    },
  }
}

function findChromium(): string {
  const path = process.env.TEST_CHROMIUM || Bun.which('chromium') || Bun.which('google-chrome')
  if (!path) throw new Error('TEST_CHROMIUM is not set: run the tests with "bun run check"')
  return path
}
