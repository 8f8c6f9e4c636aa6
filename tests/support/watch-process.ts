/**
 * Watches a service while a test floods it: `bun watch-process.ts HEALTH_URL PID`. Writes `ready`, and one line of JSON
 * (see `Watched`) when its standard input ends. It is a separate process, so that the work of the test is not measured.
 */
import { readFileSync } from 'node:fs'

export interface Watched {
  /** Duration of one `/health` request in milliseconds. */
  readonly worstMs: number
  readonly looks: number
  readonly failures: number
  /** The largest memory of the process in MiB. */
  readonly maxMemoryMb: number
}

const PAUSE_MS = 10

function memoryOf(pid: string): number {
  if (process.platform === 'linux') {
    const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return Number(resident) / 1024
  }
  return Number(Bun.spawnSync(['ps', '-o', 'rss=', '-p', pid]).stdout.toString()) / 1024
}

async function watch(url: string, pid: string): Promise<Watched> {
  let isOver = false
  void Bun.stdin.text().then(() => {
    isOver = true
  })
  let [worstMs, looks, failures, maxMemoryMb] = [0, 0, 0, 0]
  while (!isOver) {
    const begun = performance.now()
    const isFine = await fetch(url).then(
      (response) => response.ok,
      () => false,
    )
    worstMs = Math.max(worstMs, performance.now() - begun)
    if (!isFine) failures++
    if (looks++ === 0) process.stdout.write('ready\n')
    maxMemoryMb = Math.max(maxMemoryMb, memoryOf(pid))
    await Bun.sleep(PAUSE_MS)
  }
  return { worstMs, looks, failures, maxMemoryMb }
}

if (import.meta.main) {
  const [, , url = '', pid = ''] = process.argv
  process.stdout.write(`${JSON.stringify(await watch(url, pid))}\n`)
}
