/**
 * Opens many connections and sends the same bytes on each: `bun sockets.process.ts PORT COUNT BYTES`. Writes one line of JSON (see
 * `Sockets`) when all are open, and one for each line on its standard input. Ends with its standard input. It is a separate process,
 * with open files of its own.
 */
import { createInterface } from 'node:readline'

export interface Sockets {
  readonly open: number
  readonly closed: number
  /** How many answers there were by status. */
  readonly statuses: Readonly<Record<string, number>>
}

/** At a time, so that none is refused by a full queue of the system. */
const OPENED_TOGETHER = 200

async function openAll(port: number, count: number, bytes: string) {
  const statuses: Record<string, number> = {}
  let [open, closed] = [0, 0]
  const socket = {
    data(_: unknown, data: Uint8Array) {
      const status = /^HTTP\/1\.1 (\d{3})/.exec(Buffer.from(data).toString('latin1'))?.[1]
      if (status !== undefined) statuses[status] = (statuses[status] ?? 0) + 1
    },
    close: () => void closed++,
    error: () => {},
  }
  const openOne = async () => {
    const one = await Bun.connect({ hostname: '127.0.0.1', port, socket })
    open++
    one.write(bytes)
  }
  for (let first = 0; first < count; first += OPENED_TOGETHER)
    await Promise.all(Array.from({ length: Math.min(OPENED_TOGETHER, count - first) }, openOne))
  return (): Sockets => ({ open, closed, statuses })
}

if (import.meta.main) {
  const [, , port = '', count = '', bytes = ''] = process.argv
  const seen = await openAll(Number(port), Number(count), bytes)
  const tell = () => void process.stdout.write(`${JSON.stringify(seen())}\n`)
  tell()
  const lines = createInterface({ input: process.stdin })
  lines.on('line', tell)
  lines.on('close', () => process.exit(0))
}
