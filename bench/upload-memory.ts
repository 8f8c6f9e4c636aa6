/**
 * The memory that large media needs: 6 GiB by the command line client, 5 GiB by URL, and 5 GiB plus one byte by URL without
 * an announced length.
 *
 * The service receives, examines and publishes all of it. The media are a short film followed by a hole, so that they take no
 * disk space at their source. The result is the peak of each process (`VmHWM`), including its threads.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { writePaddedMp4 } from '../tests/support/padded-media.ts'
import {
  type Environment,
  openEnvironment,
  type RunningService,
  startProgram,
  startService,
} from './support/environment.ts'
import { table } from './support/measure.ts'
import { peakMemory } from './support/process-usage.ts'
import { createKey } from './support/upload-target.ts'

const GIB = 1024 ** 3
const DEADLINE_MS = 600_000
const LOOK_EVERY_MS = 200

interface Result {
  readonly what: string
  readonly outcome: string
  readonly seconds: number
  /** Megabytes, by process. */
  readonly peaks: Readonly<Record<string, number>>
}

/** Runs all three, each against fresh processes, and prints one table. */
export async function benchUploadMemory(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-bench-memory-'))
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  const environment = stack.use(await openEnvironment(2))
  const apiKey = await createKey(environment)
  const context = { environment, apiKey, folder }
  const results = [
    await uploadByCommand(context, 6 * GIB),
    await ingestByUrl(context, 5 * GIB, 'as long as announced'),
    await ingestByUrl(context, 5 * GIB + 1, 'of unknown length'),
  ]
  console.log('\nLarge media, peak of resident memory\n')
  const rows = results.map(({ what, outcome, seconds, peaks }) => [
    what,
    outcome,
    seconds.toFixed(1),
    Object.entries(peaks)
      .map(([name, megabytes]) => `${name} ${megabytes}`)
      .join(', '),
  ])
  console.log(table(['', 'outcome', 'seconds', 'peak MB'], rows))
}

interface MemoryContext {
  readonly environment: Environment
  readonly apiKey: string
  readonly folder: string
}

/** `earshot upload` to a whole service. */
async function uploadByCommand(
  { environment, apiKey, folder }: MemoryContext,
  size: number,
): Promise<Result> {
  const source = writePaddedMp4(join(folder, 'talk.mp4'), size)
  const data = join(folder, 'data')
  try {
    await using service = await startService(environment, { DATA_DIR: data })
    const start = performance.now()
    const child = Bun.spawn([process.execPath, 'src/cli.ts', 'upload', source, '--json'], {
      cwd: resolve(import.meta.dir, '..'),
      env: {
        PATH: process.env.PATH ?? '',
        HOME: folder,
        EARSHOT_URL: service.baseUrl,
        EARSHOT_API_KEY: apiKey,
      },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    let client = 0
    while (child.exitCode === null) {
      client = Math.max(client, peakOf(child.pid))
      await Bun.sleep(LOOK_EVERY_MS)
    }
    const { uploads } = JSON.parse(await new Response(child.stdout).text())
    return {
      what: `${size / GIB} GiB by earshot upload`,
      outcome: uploads?.[0]?.error?.code ?? uploads?.[0]?.status ?? 'failed',
      seconds: (performance.now() - start) / 1000,
      peaks: { service: peakMemory(service.pid), client },
    }
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

/** 0 if the process has just ended. */
function peakOf(pid: number): number {
  try {
    return peakMemory(pid)
  } catch {
    return 0
  }
}

/** An origin on this machine, and a worker that may fetch from it. */
async function ingestByUrl(
  { environment, apiKey, folder }: MemoryContext,
  size: number,
  length: 'as long as announced' | 'of unknown length',
): Promise<Result> {
  const source = writePaddedMp4(join(folder, 'talk.mp4'), size)
  const data = join(folder, 'data')
  const headers = { 'content-type': 'video/mp4' }
  const origin = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      length === 'of unknown length'
        ? // Through a stream of our own: of a file's, the server would find out the length.
          new Response(Bun.file(source).stream().pipeThrough(new TransformStream()), { headers })
        : new Response(Bun.file(source), { headers }),
  })
  try {
    await using service = await startService(environment, { ROLE: 'api', DATA_DIR: data })
    await using worker = await startProgram('bench/support/loopback-worker.ts', environment, {
      DATA_DIR: data,
    })
    const start = performance.now()
    const assetUrl = `http://media.example.com:${origin.port}/talk.mp4`
    const { status, errorCode } = await ingest(service, apiKey, assetUrl)
    return {
      what: `${size / GIB === 5 ? '5 GiB' : '5 GiB and a byte'} by URL, ${length}`,
      outcome: errorCode ?? status,
      seconds: (performance.now() - start) / 1000,
      peaks: { worker: peakMemory(worker.pid) },
    }
  } finally {
    await origin.stop(true)
    rmSync(data, { recursive: true, force: true })
  }
}

interface Asset {
  readonly status: string
  readonly errorCode: string | null
}

async function ingest({ baseUrl }: RunningService, apiKey: string, assetUrl: string): Promise<Asset> {
  const ask = async (path: string, init: RequestInit) => {
    const headers = { 'content-type': 'application/json', 'x-service-api-key': apiKey }
    const response = await fetch(`${baseUrl}/v3/rest/recordings${path}`, { ...init, headers })
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    return (await response.json()) as { readonly id: string; readonly asset: Asset }
  }
  const { id } = await ask('', { method: 'POST', body: JSON.stringify({ assetUrl }) })
  const deadline = performance.now() + DEADLINE_MS
  while (performance.now() < deadline) {
    const { asset } = await ask(`/${id}`, {})
    if (asset.status === 'completed' || asset.status === 'failed') return asset
    await Bun.sleep(LOOK_EVERY_MS)
  }
  throw new Error('the media was not ingested in time')
}
