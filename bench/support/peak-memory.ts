/** How much memory a process has had at most. */
import { readFileSync } from 'node:fs'

/** Megabytes (10⁶ bytes) of physical memory at the peak, all threads together (`VmHWM`). Linux only. */
export function peakMemory(pid: number): number {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  if (kibibytes === undefined) throw new Error(`the system does not tell the memory of process ${pid}`)
  return Math.round((Number(kibibytes) * 1024) / 1e6)
}
