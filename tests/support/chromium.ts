/** A real browser with its own profile. */
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

/** For what a page is expected to show, on machines with much else to do. */
const TIMEOUT_MS = 60_000

export interface Chromium {
  readonly context: BrowserContext
  /** Like another profile: cookies, stores and cache of its own. It costs much less than another browser. */
  newContext(): Promise<BrowserContext>
  stop(): Promise<void>
}

/** `TEST_CHROMIUM`, or the browser on the PATH. @throws Error if there is none */
export async function startChromium(): Promise<Chromium> {
  const browser = await chromium.launch({ executablePath: findChromium(), headless: true, args: ARGUMENTS })
  const newContext = async () => {
    const context = await browser.newContext()
    context.setDefaultTimeout(TIMEOUT_MS)
    return context
  }
  return {
    context: await newContext(),
    newContext,
    stop: () => browser.close(),
  }
}

function findChromium(): string {
  const path = process.env.TEST_CHROMIUM || Bun.which('chromium') || Bun.which('google-chrome')
  if (!path) throw new Error('TEST_CHROMIUM is not set: run the tests with "bun run check"')
  return path
}
