/**
 * Programs that the tests need and npm does not provide: a Redis server, Chromium, FFmpeg, a speech synthesiser, a speech
 * recogniser, and an object store with an S3 interface.
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

const JQ: Tool = { what: 'jq', candidates: ['jq'], apt: ['jq'], brew: ['jq'] }

const CURL: Tool = { what: 'curl', candidates: ['curl'], apt: ['curl'], brew: ['curl'] }

const ESPEAK: Tool = {
  what: 'eSpeak NG',
  candidates: ['espeak-ng'],
  apt: ['espeak-ng'],
  brew: ['espeak-ng'],
}

const POCKETSPHINX: Tool = {
  what: 'PocketSphinx',
  candidates: ['pocketsphinx_continuous', 'pocketsphinx'],
  apt: ['pocketsphinx', 'pocketsphinx-en-us'],
  brew: ['cmu-pocketsphinx'],
}

const PYTHON: Tool = {
  what: 'Python 3.10 or later with venv',
  candidates: ['python3'],
  apt: ['python3', 'python3-venv'],
  brew: ['python'],
}

/** Path of a Redis server program. @throws ToolMissing */
export const redisServer = (): string => findOrInstall(REDIS)

/** Path of Chromium, or null if none of the selected test files uses it. @throws ToolMissing */
export function chromiumFor(files: readonly string[]): string | null {
  if (!files.some((file) => file.includes('tests/browser/'))) return null
  return process.env.TEST_CHROMIUM || findOrInstall(CHROMIUM)
}

/** Ensures FFmpeg if one of the selected test files uses media. @throws ToolMissing */
export function ffmpegFor(root: string, files: readonly string[]): void {
  const needsIt = (file: string) => /ffmpeg|recordingActor/i.test(readFileSync(join(root, file), 'utf8'))
  if (files.some(needsIt)) findOrInstall(FFMPEG)
}

/** Sees to the programs of the documentation's commands where they are run. @throws ToolMissing */
export function snippetToolsFor(files: readonly string[]): void {
  if (files.includes('tests/docs/snippets.test.ts'))
    for (const tool of [JQ, CURL, FFMPEG]) findOrInstall(tool)
}

/** Ensures Python if one of the selected test files uses it. @throws ToolMissing */
export function pythonFor(root: string, files: readonly string[]): void {
  const usesIt = (file: string) => readFileSync(join(root, file), 'utf8').includes('support/python.ts')
  if (files.some(usesIt)) findOrInstall(PYTHON)
}

/** Ensures a synthesiser and a recogniser if one of the selected test files uses speech. @throws ToolMissing */
export function speechFor(root: string, files: readonly string[]): void {
  const speaks = (file: string) => readFileSync(join(root, file), 'utf8').includes('support/recognise.ts')
  if (files.some(speaks)) for (const tool of [ESPEAK, POCKETSPHINX]) findOrInstall(tool)
}

/** Ensures a server with an S3 interface if one of the selected test files starts it. @throws ToolMissing */
export function s3ServerFor(root: string, files: readonly string[]): void {
  if (process.env.S3_TEST_ENDPOINT) return
  const startsOne = (file: string) => readFileSync(join(root, file), 'utf8').includes('support/s3/server.ts')
  if (files.some(startsOne)) findOrInstall(SWIFT)
}

function findOrInstall(tool: Tool): string {
  const found = find(tool)
  if (found !== null) return found
  for (const command of installCommands(tool)) {
    console.log(`Installing ${tool.what}: ${command.join(' ')}`)
    const { success, stderr } = Bun.spawnSync(command, {
      // Installs the program without starting the distribution's daemon.
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'pipe',
    })
    if (!success) console.log(stderr.toString().trimEnd())
  }
  const installed = find(tool)
  if (installed !== null) return installed
  throw new ToolMissing(`The tests need ${tool.what}. Install it and run the check again: ${advice(tool)}`)
}

function find(tool: Tool): string | null {
  for (const candidate of tool.candidates) {
    const path = candidate.startsWith('/') ? (existsSync(candidate) ? candidate : null) : Bun.which(candidate)
    if (path !== null) return path
  }
  return null
}

function installCommands(tool: Tool): string[][] {
  if (process.platform === 'darwin' && Bun.which('brew') && tool.brew.length > 0)
    return [['brew', 'install', ...tool.brew]]
  if (process.getuid?.() !== 0 || !Bun.which('apt-get')) return []
  return [
    ['apt-get', 'update', '-q'],
    ['apt-get', 'install', '-q', '-y', '--no-install-recommends', ...tool.apt],
  ]
}

function advice(tool: Tool): string {
  return process.platform === 'darwin' && tool.brew.length > 0
    ? `brew install ${tool.brew.join(' ')}`
    : `sudo apt-get install ${tool.apt.join(' ')}`
}
