/**
 * Many connections to a service, held by a process of their own. Bun raises the limit of open files as far as the system permits, so each
 * process may have as many.
 */
import { join } from 'node:path'
import { linesOf } from '../../../src/analysis/analyze/lines.ts'
import type { Sockets } from './sockets.process.ts'

export interface OpenSockets {
  seen(): Promise<Sockets>
  /** Closes all of them. */
  close(): Promise<void>
}

/** Opens `count` connections to the service and sends `bytes` on each. Resolves when all are open. */
export async function openSockets(baseUrl: string, count: number, bytes: string): Promise<OpenSockets> {
  const script = join(import.meta.dir, 'sockets.process.ts')
  const command = [process.execPath, script, new URL(baseUrl).port, String(count), bytes]
  const child = Bun.spawn(command, { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
  const lines = linesOf(child.stdout)
  const next = async () => JSON.parse((await lines.next()).value ?? '') as Sockets
  await next()
  return {
    async seen() {
      child.stdin.write('\n')
      await child.stdin.flush()
      return next()
    },
    async close() {
      await child.stdin.end()
      await child.exited
    },
  }
}
