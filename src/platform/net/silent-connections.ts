/**
 * Closes silent connections before the process runs out of file descriptors. The runtime accepts every connection and waits a minute for its
 * first request. A process without free descriptors accepts nobody, opens no file, and ends when it starts a thread.
 *
 * The runtime tells nothing of a connection before its first request, so the system is asked (`poll`, `getsockopt`). None of these calls needs a
 * descriptor. `shutdown` looks to the runtime as if the client had closed. Linux only.
 */
import { dlopen, FFIType } from 'bun:ffi'
import { readFileSync } from 'node:fs'
import type { Log } from '../observability/log.ts'

const LOOK_EVERY_MS = 100
/** With more descriptors, other limits come first. */
const MAX_LIMIT = 65_536
/** Below this share of free descriptors, the most silent connections are closed until there is that share. */
const [LEAST_FREE, WANTED_FREE] = [0.1, 0.15]
/** A connection that had data more recently is never closed. */
const SILENT_MS = 200
const WARN_EVERY_MS = 60_000

const POLLNVAL = 0x20
const [TCP, TCP_INFO, BOTH_WAYS] = [6, 11, 2]
/** Places in `struct pollfd` and `struct tcp_info`, in bytes. */
const POLL = { bytes: 8, result: 6 } as const
const INFO = { bytes: 128, sent: 44, received: 52 } as const
const ADDRESS_BYTES = 128

/** The state of a socket that listens. */
const LISTENS = 10

interface Silent {
  readonly descriptor: number
  readonly ms: number
}

/** Starts to look. @returns a function that stops it */
export function closeSilentConnections(port: number, log: Log): () => void {
  const limit = descriptorLimit()
  const system = limit === null || limit > MAX_LIMIT ? null : openSystem(limit)
  if (limit === null || system === null) return () => {}
  let warnedAt = Number.NEGATIVE_INFINITY
  const look = () => {
    if (limit - system.calm() >= limit * LEAST_FREE) return
    const used = system.used()
    const excess = Math.ceil(used.length - limit * (1 - WANTED_FREE))
    const silent = used.flatMap((descriptor) => system.silenceOf(descriptor, port))
    const closed = silent.sort((a, b) => b.ms - a.ms).slice(0, excess)
    for (const { descriptor } of closed) system.end(descriptor)
    if (performance.now() - warnedAt < WARN_EVERY_MS) return
    warnedAt = performance.now()
    log.warn(
      { limit, used: used.length, closed: closed.length },
      'few file descriptors are left: silent connections are closed; raise the limit (ulimit -n)',
    )
  }
  const timer = setInterval(look, LOOK_EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** The soft limit, which the runtime has raised as far as it may. Null: it is not known. */
function descriptorLimit(): number | null {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? null : Number(soft)
  } catch {
    return null
  }
}

function openSystem(limit: number) {
  const { i32, ptr, u64 } = FFIType
  try {
    const { symbols } = dlopen('libc.so.6', {
      poll: { args: [ptr, u64, i32], returns: i32 },
      getsockopt: { args: [i32, i32, i32, ptr, ptr], returns: i32 },
      getsockname: { args: [i32, ptr, ptr], returns: i32 },
      shutdown: { args: [i32, i32], returns: i32 },
    })
    const list = new DataView(new ArrayBuffer(limit * POLL.bytes))
    for (let descriptor = 0; descriptor < limit; descriptor++)
      list.setInt32(descriptor * POLL.bytes, descriptor, true)
    const bytes = new Uint8Array(list.buffer)
    return {
      /** How many descriptors are open, without those whose other side has gone: the runtime closes these by itself. */
      calm(): number {
        const others = symbols.poll(bytes, limit, 0)
        return others < 0 ? 0 : limit - others
      },
      /** The descriptors that were open at the last call of `calm`. */
      used(): readonly number[] {
        const isOpen = (descriptor: number) =>
          (list.getInt16(descriptor * POLL.bytes + POLL.result, true) & POLLNVAL) === 0
        return Array.from({ length: limit }, (_, descriptor) => descriptor).filter(isOpen)
      },
      /** Nothing for what is no connection to the port, and for one with recent data. */
      silenceOf(descriptor: number, port: number): readonly Silent[] {
        const info = new Uint8Array(INFO.bytes)
        if (symbols.getsockopt(descriptor, TCP, TCP_INFO, info, Uint32Array.of(INFO.bytes)) !== 0) return []
        const address = new Uint8Array(ADDRESS_BYTES)
        if (symbols.getsockname(descriptor, address, Uint32Array.of(ADDRESS_BYTES)) !== 0) return []
        const [isConnected, view] = [info[0] !== LISTENS, new DataView(info.buffer)]
        if (!isConnected || new DataView(address.buffer).getUint16(2) !== port) return []
        const ms = Math.min(view.getUint32(INFO.sent, true), view.getUint32(INFO.received, true))
        return ms < SILENT_MS ? [] : [{ descriptor, ms }]
      },
      end: (descriptor: number) => symbols.shutdown(descriptor, BOTH_WAYS),
    }
  } catch {
    return null
  }
}
