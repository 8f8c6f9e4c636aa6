/**
 * CPU time of the processes of a benchmark, from `/proc`. It shows where time is spent, and unlike a rate it hardly depends
 * on other load. Linux only; elsewhere every value is 0.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** The kernel's unit in `/proc/<pid>/stat`, which is a hundredth of a second on every Linux. */
const MS_PER_TICK = 10

interface Process {
  readonly pid: number
  readonly parent: number
  readonly ms: number
}

/** Milliseconds of CPU of a process and all its descendants, including ended ones. */
export function cpuOfTree(root: number): number {
  const all = processes()
  const wanted = new Set([root])
  for (let before = 0; before !== wanted.size; ) {
    before = wanted.size
    for (const { pid, parent } of all) if (wanted.has(parent)) wanted.add(pid)
  }
  return all.filter(({ pid }) => wanted.has(pid)).reduce((sum, { ms }) => sum + ms, 0)
}

/** This process without its children. */
export function cpuOfSelf(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** The PostgreSQL server on the port of the URL; 0 if not found. */
export function postgresPid(databaseUrl: string): number {
  const { port } = new URL(databaseUrl)
  const found = pids().find((pid) => {
    const words = read(`/proc/${pid}/cmdline`).split('\0')
    return words[0]?.endsWith('/postgres') && words[words.indexOf('-p') + 1] === port
  })
  return found ?? 0
}

function processes(): readonly Process[] {
  return pids().flatMap((pid) => {
    const stat = read(`/proc/${pid}/stat`)
    // The name in parentheses may contain spaces; the fields after it are fixed (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return fields.length < 15 ? [] : [{ pid, parent: Number(fields[1]), ms: ticks * MS_PER_TICK }]
  })
}

function pids(): readonly number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}

/** Empty for a process that has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
