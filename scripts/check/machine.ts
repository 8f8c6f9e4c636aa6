/**
 * Programs that the tests need and npm does not provide: a Redis server, PgBouncer, nginx, OpenSSL, Chromium, FFmpeg, a speech synthesiser, a speech
 * recogniser, libfaketime, and an object store with an S3 interface.
 *
 * A missing program is installed if that needs no question (root on Debian, Homebrew on macOS). Otherwise the check fails
 * with one line that names what to install. It never skips tests.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `message` is one line for the person who runs the check. */
export class ToolMissing extends Error {
  override readonly name = 'ToolMissing'
}

interface Tool {
  readonly what: string
  /** Names on the PATH, or absolute paths. The first that exists is used. */
  readonly candidates: readonly string[]
  readonly apt: readonly string[]
  readonly brew: readonly string[]
}

const REDIS: Tool = {
  what: 'a Redis server',
  candidates: ['redis-server', 'valkey-server'],
  apt: ['redis-server'],
  brew: ['redis'],
}

const CHROMIUM: Tool = {
  what: 'Chromium',
  // The shell without windows takes less time.
  candidates: [
    'chromium-headless-shell',
    'chromium',
    'chromium-browser',
    'google-chrome',
    'google-chrome-stable',
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ],
  apt: ['chromium-headless-shell'],
  brew: ['--cask', 'google-chrome'],
}

const SWIFT: Tool = {
  what: 'OpenStack Swift (or an S3 server that S3_TEST_ENDPOINT names)',
  candidates: ['/usr/lib/python3/dist-packages/swift/proxy/server.py'],
  apt: ['python3-swift'],
  brew: [],
}

const FFMPEG: Tool = {
  what: 'FFmpeg',
  candidates: ['ffmpeg'],
  apt: ['ffmpeg'],
  brew: ['ffmpeg'],
}

const HAPROXY: Tool = {
  what: 'HAProxy',
  candidates: ['haproxy', '/usr/sbin/haproxy'],
  apt: ['haproxy'],
  brew: ['haproxy'],
}

const NGINX: Tool = {
  what: 'nginx',
  candidates: ['nginx', '/usr/sbin/nginx'],
  apt: ['nginx-light'],
  brew: ['nginx'],
}

const JQ: Tool = { what: 'jq', candidates: ['jq'], apt: ['jq'], brew: ['jq'] }

const OPENSSL: Tool = { what: 'OpenSSL', candidates: ['openssl'], apt: ['openssl'], brew: ['openssl@3'] }

const CURL: Tool = { what: 'curl', candidates: ['curl'], apt: ['curl'], brew: ['curl'] }

const ESPEAK: Tool = {
  what: 'eSpeak NG',
  candidates: ['espeak-ng'],
  apt: ['espeak-ng'],
  brew: ['espeak-ng'],
}

const PGBOUNCER: Tool = {
  what: 'PgBouncer',
  candidates: ['pgbouncer', '/usr/sbin/pgbouncer'],
  apt: ['pgbouncer'],
  brew: ['pgbouncer'],
}

const POCKETSPHINX: Tool = {
  what: 'PocketSphinx',
  candidates: ['pocketsphinx_continuous', 'pocketsphinx'],
  apt: ['pocketsphinx', 'pocketsphinx-en-us'],
  brew: ['cmu-pocketsphinx'],
}

/** Where Debian has the library. */
export const FAKETIME_LIBRARIES: readonly string[] = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map(
  (machine) => `/usr/lib/${machine}/faketime/libfaketimeMT.so.1`,
)

/** Only for Linux. */
const FAKETIME: Tool = {
  what: 'libfaketime',
  candidates: FAKETIME_LIBRARIES,
  apt: ['libfaketime'],
  brew: [],
}

const PYTHON: Tool = {
  what: 'Python 3.10 or later with venv',
  candidates: ['python3'],
  apt: ['python3', 'python3-venv'],
  brew: ['python'],
}

/** Programs whose path the tests are told. */
export interface Programs {
  readonly redis: string
  /** Null if none of the selected test files uses a browser. */
  readonly chromium: string | null
}

/**
 * Finds what the selected test files use, and installs what is missing, all at once. `files` are relative to `root`.
 * @throws ToolMissing
 */
export function providePrograms(root: string, files: readonly string[]): Programs {
  const sources = files.map((file) => readFileSync(join(root, file), 'utf8'))
  const uses = (what: RegExp) => sources.some((source) => what.test(source))
  const runsCommands = files.includes('tests/docs/snippets.test.ts')
  const hasPages = files.some((file) => file.includes('tests/browser/')) || uses(/support\/chromium\.ts/)
  const chromium = process.env.TEST_CHROMIUM || null
  const setsClocks = uses(/support\/faketime\.ts/)
  const hasFaketime = process.platform === 'linux'
  if (setsClocks && !hasFaketime)
    console.log('Tests of clocks that are wrong (libfaketime) run on Linux only.')
  const needed: readonly (readonly [Tool, boolean])[] = [
    [REDIS, true],
    [CHROMIUM, hasPages && chromium === null],
    [SWIFT, !process.env.S3_TEST_ENDPOINT && uses(/support\/s3\/server\.ts/)],
    [PYTHON, uses(/support\/python\.ts/)],
    [FFMPEG, runsCommands || uses(/ffmpeg|recordingActor/i)],
    [PGBOUNCER, uses(/support\/pgbouncer\.ts/)],
    [ESPEAK, uses(/support\/recognise\.ts/)],
    [POCKETSPHINX, uses(/support\/recognise\.ts/)],
    [HAPROXY, uses(/haproxy\.cfg/)],
    [NGINX, uses(/support\/nginx\.ts/)],
    [OPENSSL, uses(/support\/authority\.ts/)],
    [FAKETIME, setsClocks && hasFaketime],
    [JQ, runsCommands],
    [CURL, runsCommands],
  ]
  install(needed.filter(([tool, isNeeded]) => isNeeded && find(tool) === null).map(([tool]) => tool))
  return { redis: pathOf(REDIS), chromium: hasPages ? (chromium ?? pathOf(CHROMIUM)) : null }
}

/** @throws ToolMissing if one of them is still missing */
function install(missing: readonly Tool[]): void {
  if (missing.length === 0) return
  for (const command of installCommands(missing)) {
    console.log(`Installing ${missing.map(({ what }) => what).join(', ')}: ${command.join(' ')}`)
    const { success, stderr } = Bun.spawnSync([...command], {
      // Installs the program without starting the distribution's daemon.
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'pipe',
    })
    if (!success) console.log(stderr.toString().trimEnd())
  }
  for (const tool of missing) pathOf(tool)
}

/** @throws ToolMissing */
function pathOf(tool: Tool): string {
  const path = find(tool)
  if (path !== null) return path
  throw new ToolMissing(`The tests need ${tool.what}. Install it and run the check again: ${advice(tool)}`)
}

function find(tool: Tool): string | null {
  for (const candidate of tool.candidates) {
    const path = candidate.startsWith('/') ? (existsSync(candidate) ? candidate : null) : Bun.which(candidate)
    if (path !== null) return path
  }
  return null
}

/** Homebrew gets a command for each, because `--cask` holds for all that a command names. */
function installCommands(tools: readonly Tool[]): readonly (readonly string[])[] {
  if (process.platform === 'darwin' && Bun.which('brew'))
    return tools.filter(({ brew }) => brew.length > 0).map(({ brew }) => ['brew', 'install', ...brew])
  if (process.getuid?.() !== 0 || !Bun.which('apt-get')) return []
  return [
    ['apt-get', 'update', '-q'],
    ['apt-get', 'install', '-q', '-y', '--no-install-recommends', ...tools.flatMap(({ apt }) => apt)],
  ]
}

function advice(tool: Tool): string {
  return process.platform === 'darwin' && tool.brew.length > 0
    ? `brew install ${tool.brew.join(' ')}`
    : `sudo apt-get install ${tool.apt.join(' ')}`
}
