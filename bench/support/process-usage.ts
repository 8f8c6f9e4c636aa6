/** Resource usage of a process. Linux only. */
import { readFileSync } from 'node:fs'

/** The value on every Linux that Bun supports. */
const TICKS_A_SECOND = 100

/** Megabytes (10⁶ bytes) of physical memory at the peak, all threads together (`VmHWM`). */
export function peakMemory(pid: number): number {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  if (kibibytes === undefined) throw new Error(`the system does not tell the memory of process ${pid}`)
  return Math.round((Number(kibibytes) * 1024) / 1e6)
}

/** CPU seconds in user and kernel mode, all threads together. */
export function processorSeconds(pid: number): number {
  // After the name, which may contain blanks, state is the first field and utime the twelfth.
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const [own, kernel] = fields.split(' ').slice(11, 13)
  return (Number(own) + Number(kernel)) / TICKS_A_SECOND
}
