/**
 * Watches a service while a test floods it: `bun watch-process.ts HEALTH_URL PID`. Writes `ready`, and for each line on its standard
 * input one line of JSON (see `Watched`) about the time since the line before. Ends with its standard input. It is a separate
 * process, so that the work of the test is not measured.
 */
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

export interface Watched {
  /** Duration of one `/health` request in milliseconds. */
  readonly worstMs: number
  readonly looks: number
  readonly failures: number
  /** The largest memory of the process in MiB. */
  readonly maxMemoryMb: number
}

const PAUSE_MS = 10
const NOTHING: Watched = { worstMs: 0, looks: 0, failures: 0, maxMemoryMb: 0 }

function memoryOf(pid: string): number {
  if (process.platform === 'linux') {
    const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return Number(resident) / 1024
  }
  return Number(Bun.spawnSync(['ps', '-o', 'rss=', '-p', pid]).stdout.toString()) / 1024
}

async function look(url: string, pid: string, before: Watched): Promise<Watched> {
  const begun = performance.now()
  const isFine = await fetch(url).then(
    (response) => response.ok,
    () => false,
  )
  return {
    worstMs: Math.max(before.worstMs, performance.now() - begun),
    looks: before.looks + 1,
    failures: before.failures + (isFine ? 0 : 1),
    maxMemoryMb: Math.max(before.maxMemoryMb, memoryOf(pid)),
  }
}

/** A period ends with a look that began in it, so that none is without one. */
async function watch(url: string, pid: string): Promise<void> {
  let asked = 0
  let isOver = false
  const lines = createInterface({ input: process.stdin })
  lines.on('line', () => asked++)
  lines.on('close', () => {
    isOver = true
  })
  process.stdout.write('ready\n')
  let seen = NOTHING
  while (!isOver) {
    const isAsked = asked > 0
    seen = await look(url, pid, seen)
    if (isAsked) {
      asked--
      process.stdout.write(`${JSON.stringify(seen)}\n`)
      seen = NOTHING
    }
    await Bun.sleep(PAUSE_MS)
  }
}

if (import.meta.main) {
  const [, , url = '', pid = ''] = process.argv
  await watch(url, pid)
}
