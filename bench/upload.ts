/**
 * Upload throughput: the service compared with the tus reference server on Node.js and with a bare `Bun.serve` that writes
 * bodies to files. All use the same disk and client (curl, reading a noise file from the page cache) and alternate.
 *
 * The service runs as shipped (`ROLE=api`, folder store): acknowledged bytes are on the disk, and progress is stored in
 * PostgreSQL. The peer leaves its bytes to the page cache. The bare server is measured both ways. Before each run everything
 * written so far is flushed, so that no contestant pays for another.
 */
import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEnvironment, startProgram, startService } from './support/environment.ts'
import { type Contestant, compare, table } from './support/measure.ts'
import { peakMemory, processorSeconds } from './support/process-usage.ts'
import {
  bareTarget,
  createKey,
  earshotTarget,
  installPeer,
  type OpenUpload,
  send,
  type Target,
  tusTarget,
} from './support/upload-target.ts'

const MIB = 1024 ** 2
const GIB = 1024 ** 3
const ROUNDS = 5
/** Concurrent streams → bytes of each. */
const SIZES = new Map([
  [1, 1024 * MIB],
  [16, 128 * MIB],
])

interface Uploading extends Contestant {
  readonly target: Target
  /** CPU seconds per GiB of every run. */
  readonly costs: number[]
}

/** One run sends all streams at once, each to its own file. Files are deleted before the next run. */
function uploading(target: Target, folder: string, source: string, streams: number): Uploading {
  let uploads: readonly OpenUpload[] = []
  const costs: number[] = []
  return {
    name: target.name,
    target,
    costs,
    async prepare(amount) {
      // Files of the last run.
      for (const file of filesIn(folder)) rmSync(file, { force: true })
      uploads = await Promise.all(Array.from({ length: streams }, () => target.open(amount / streams)))
      Bun.spawnSync(['sync'])
    },
    async run(amount) {
      const before = processorSeconds(target.pid)
      await Promise.all(uploads.map((upload) => send(source, upload)))
      costs.push((processorSeconds(target.pid) - before) / (amount / GIB))
      const stored = filesIn(folder).reduce((sum, file) => sum + statSync(file).size, 0)
      if (stored < amount) throw new Error(`${target.name} has ${stored} of ${amount} bytes`)
    },
  }
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

/** Noise, because a disk that compresses zeros would flatter every contestant. */
function noiseFile(path: string, bytes: number): string {
  rmSync(path, { force: true })
  for (let written = 0; written < bytes; written += MIB) appendFileSync(path, randomBytes(MIB))
  return path
}

/** Measures every contestant and prints one table for each number of streams. */
export async function benchUpload(): Promise<void> {
  installPeer()
  const node = Bun.which('node')
  if (node === null) throw new Error('install Node.js to measure its tus server')
  const folder = mkdtempSync(join(tmpdir(), 'earshot-bench-upload-'))
  const [ours, theirs, bares] = ['earshot', 'tus', 'bare'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const media = join(ours, 'media')
  for (const path of [media, theirs, bares]) mkdirSync(path, { recursive: true })
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  const environment = stack.use(await openEnvironment(2))
  const service = stack.use(await startService(environment, { ROLE: 'api', DATA_DIR: ours }))
  const peer = stack.use(
    await startProgram('bench/support/tus-server.mjs', environment, { UPLOAD_DIR: theirs }, node),
  )
  const bare = stack.use(
    await startProgram('bench/support/body-to-file.ts', environment, { UPLOAD_DIR: bares }),
  )
  const apiKey = await createKey(environment)
  const targets: readonly (readonly [Target, string])[] = [
    [earshotTarget(service, apiKey, 'PATCH'), media],
    [earshotTarget(service, apiKey, 'PUT'), media],
    [tusTarget(peer), theirs],
    [bareTarget(bare, false), bares],
    [bareTarget(bare, true), bares],
  ]
  for (const [streams, bytes] of SIZES) {
    const source = noiseFile(join(folder, 'source'), bytes)
    const contestants = targets.map(([target, kept]) => uploading(target, kept, source, streams))
    const rates = await compare(contestants, streams * bytes, ROUNDS)
    const first = rates[0]?.median ?? Number.NaN
    console.log(
      `\nUploads, ${streams} at a time, ${bytes / MIB} MiB each (median of ${ROUNDS} rounds), MB/s\n`,
    )
    const rows = contestants.map(({ target, costs }, index) => {
      const { median = Number.NaN, rates: all = [] } = rates[index] ?? {}
      return [
        target.name,
        megabytes(median),
        `${megabytes(all[0])} – ${megabytes(all.at(-1))}`,
        (first / median).toFixed(2),
        target.durable ? 'yes' : 'no',
        medianOf(costs).toFixed(2),
        String(peakMemory(target.pid)),
      ]
    })
    const header = ['', 'MB/s', 'lowest – highest', 'Earshot, tus : this', 'durable', 'CPU s/GiB', 'peak MB']
    console.log(table(header, rows))
  }
}

const medianOf = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

const megabytes = (bytesPerSecond = Number.NaN) => String(Math.round(bytesPerSecond / 1e6))
