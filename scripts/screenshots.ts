/**
 * `bun run screenshots`: starts the service on its own data, loads the demo, and takes the pictures of docs/pictures.
 *
 * `bun run screenshots FOLDER WIDTH…` takes pictures of every page at these widths (in CSS pixels) into another folder, to look at.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { installDependencies } from './install.ts'

const ROOT = resolve(import.meta.dir, '..')
const PICTURES = join(ROOT, 'docs', 'pictures')
const SCHEMES = ['light', 'dark'] as const
const HEIGHT = 800
const QUALITY = 82
/** Colours of buttons change slowly. */
const SETTLE_MS = 300

interface Place {
  readonly name: string
  readonly path: string
  /** A link of that page that is followed. */
  readonly follow?: string
}

const SHOWN: readonly Place[] = [
  { name: 'overview', path: '?days=7' },
  { name: 'theme', path: '/themes?sort=rising', follow: '.list a' },
  { name: 'conversation', path: '/search?q=engineers+cannot+upload', follow: '.quotation a' },
  { name: 'call', path: '/calls', follow: '.list a' },
]
const OTHERS: readonly Place[] = [
  { name: 'themes', path: '/themes' },
  { name: 'findings', path: '/findings' },
  { name: 'conversations', path: '/conversations' },
  { name: 'calls', path: '/calls' },
  { name: 'feedback', path: '/feedback' },
  { name: 'record', path: '/feedback', follow: '.list a' },
  { name: 'people', path: '/people' },
  { name: 'person', path: '/people?email=marcus@bellandsons.example', follow: '.list a' },
  { name: 'search', path: '/search?q=photos' },
  { name: 'health', path: '/health' },
  { name: 'settings', path: '/settings' },
  { name: 'settings-agent', path: '/settings/agents', follow: '.list a' },
  { name: 'settings-redaction', path: '/settings/redaction' },
  { name: 'settings-members', path: '/settings/members' },
  { name: 'settings-webhooks', path: '/settings/webhooks' },
  { name: 'settings-audit', path: '/settings/audit' },
]

interface Job {
  readonly folder: string
  readonly widths: readonly number[]
  readonly places: readonly Place[]
}

async function main([folder, ...widths]: readonly string[]): Promise<void> {
  installDependencies({ need: 'service' })
  const job =
    folder === undefined
      ? { folder: PICTURES, widths: [1_280], places: SHOWN }
      : { folder: resolve(folder), widths: widths.map(Number), places: [...SHOWN, ...OTHERS] }
  mkdirSync(job.folder, { recursive: true })
  const dataDir = mkdtempSync(join(tmpdir(), 'earshot-screenshots-'))
  const env = { ...process.env, DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: String(await freePort()) }
  const service = Bun.spawn([process.execPath, 'src/cli.ts', 'serve'], {
    cwd: ROOT,
    env: { ...env, LOG_LEVEL: 'error' },
    stdout: 'ignore',
    stderr: 'inherit',
  })
  try {
    await untilReady(`http://127.0.0.1:${env.PORT}/ready`)
    const { signInUrl } = JSON.parse(await output(['demo', '--json'], env))
    await inBrowser(async (context) => take(context, signInUrl, job))
  } finally {
    service.kill('SIGINT')
    await service.exited
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function take(
  context: BrowserContext,
  signInUrl: string,
  { folder, widths, places }: Job,
): Promise<void> {
  const page = await context.newPage()
  await page.goto(signInUrl)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const { origin } = new URL(page.url())
  for (const width of widths) {
    await page.setViewportSize({ width, height: HEIGHT })
    for (const place of places) {
      await open(page, `${origin}/console${place.path}`, place.follow)
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme })
        await page.waitForTimeout(SETTLE_MS)
        const name = [place.name, ...(widths.length === 1 && folder === PICTURES ? [] : [width]), colorScheme]
        const file = join(folder, `${name.join('-')}.webp`)
        const size = await Bun.write(file, await pictureOf(page))
        process.stdout.write(`${file}: ${Math.ceil(size / 1_000)} kB\n`)
      }
    }
  }
}

async function open(page: Page, url: string, follow: string | undefined): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' })
  await page.goto(url)
  await page.getByRole('heading', { level: 1 }).waitFor()
  if (follow !== undefined) {
    const address = page.url()
    await page.locator(follow).first().click()
    await page.waitForURL((next) => next.href !== address)
    await page.getByRole('heading', { level: 1 }).waitFor()
  }
  while ((await page.locator('.loading').count()) > 0) await page.waitForTimeout(100)
  // The stream of changes stays open, so the network is never idle; waveforms are drawn a moment later.
  await page.waitForTimeout(1_500)
}

/** Chromium writes WebP only over its own protocol. */
async function pictureOf(page: Page): Promise<Uint8Array> {
  const session = await page.context().newCDPSession(page)
  try {
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
    return Buffer.from(data, 'base64')
  } finally {
    await session.detach()
  }
}

async function inBrowser(work: (context: BrowserContext) => Promise<void>): Promise<void> {
  const executablePath = process.env.TEST_CHROMIUM || Bun.which('chromium') || Bun.which('google-chrome')
  if (!executablePath) throw new Error('there is no chromium on the PATH: install it, or set TEST_CHROMIUM')
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    await work(await browser.newContext({ locale: 'en-GB' }))
  } finally {
    await browser.close()
  }
}

async function output(words: readonly string[], env: Record<string, string | undefined>): Promise<string> {
  const child = Bun.spawn([process.execPath, 'src/cli.ts', ...words], {
    cwd: ROOT,
    env,
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const text = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error(`earshot ${words.join(' ')} failed`)
  return text
}

const START_MS = 120_000

async function untilReady(url: string): Promise<void> {
  const end = performance.now() + START_MS
  for (;;) {
    const answer = await fetch(url).catch(() => null)
    if (answer?.ok) return
    if (performance.now() > end) throw new Error('the service did not become ready')
    await Bun.sleep(200)
  }
}

function freePort(): Promise<number> {
  const { promise, resolve: found, reject } = Promise.withResolvers<number>()
  const server = createServer().once('error', reject)
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    server.close(() => found(typeof address === 'object' && address !== null ? address.port : 0))
  })
  return promise
}

await main(process.argv.slice(2))
