/** What a process has used of the machine. Linux only. */
import { readFileSync } from 'node:fs'

/** Of every Linux that Bun runs on. */
const TICKS_A_SECOND = 100

/** Megabytes (10⁶ bytes) of physical memory at the peak, all threads together (`VmHWM`). */
export function peakMemory(pid: number): number {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  if (kibibytes === undefined) throw new Error(`the system does not tell the memory of process ${pid}`)
  return Math.round((Number(kibibytes) * 1024) / 1e6)
}

/** Seconds of its own code and of the kernel's work for it, all threads together. */
export function processorSeconds(pid: number): number {
  // Behind the name, which may have blanks: state is the first field, utime the twelfth.
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const [own, kernel] = fields.split(' ').slice(11, 13)
  return (Number(own) + Number(kernel)) / TICKS_A_SECOND
}
