/**
 * A file with the events that were not sent yet, for programs that may be killed. Each line is an event, or the numbers of events that are
 * over. One process has one file.
 */
import type { SessionMembers, Waiting } from './queue.ts'

/** Events that were not confirmed yet, in a file. */
export interface Spool {
  /** What an earlier process left, in its order. */
  read(): readonly SpooledEvent[]
  add(members: SessionMembers, waiting: Waiting): void
  remove(numbers: readonly number[]): void
}

interface SpooledEvent {
  readonly members: SessionMembers
  readonly number: number
  readonly json: string
}

type Line =
  | { readonly number: number; readonly members: SessionMembers; readonly json: string }
  | { readonly over: readonly number[] }

/** The part of `node:fs` that is used. */
interface Files {
  readFileSync(path: string, encoding: 'utf8'): string
  appendFileSync(path: string, text: string): void
  writeFileSync(path: string, text: string): void
  renameSync(from: string, to: string): void
}

/**
 * @param report gets failures of the file; events are then sent without it
 * @throws Error where the runtime has no files
 */
export function openSpool(path: string, report: (reason: string) => void): Spool {
  const files = filesOfRuntime()
  let live = 0
  const attempt = (work: () => void) => {
    try {
      work()
    } catch (error) {
      report(error instanceof Error ? error.message : 'unknown')
    }
  }
  const write = (line: Line) => attempt(() => files.appendFileSync(path, `${JSON.stringify(line)}\n`))
  return {
    read() {
      const left = leftIn(readIfThere(files, path))
      live = left.length
      attempt(() => {
        files.writeFileSync(`${path}.new`, left.map((line) => `${JSON.stringify(line)}\n`).join(''))
        files.renameSync(`${path}.new`, path)
      })
      return left
    },
    add(members, { number, json }) {
      live++
      write({ number, members, json })
    },
    remove(numbers) {
      if (numbers.length === 0) return
      live -= numbers.length
      // An empty queue needs no lines at all.
      if (live <= 0) attempt(() => files.writeFileSync(path, ''))
      else write({ over: numbers })
    },
  }
}

/** The events that are not over. A line that was cut by a crash is left out. */
function leftIn(text: string): readonly SpooledEvent[] {
  const events = new Map<number, SpooledEvent>()
  for (const line of text.split('\n')) {
    const value = parsed(line)
    if (value === null) continue
    if ('over' in value) for (const number of value.over) events.delete(number)
    else events.set(value.number, value)
  }
  return [...events.values()]
}

function parsed(line: string): Line | null {
  try {
    const value = JSON.parse(line) as Line | null
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

function readIfThere(files: Files, path: string): string {
  try {
    return files.readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function filesOfRuntime(): Files {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }
  const files = process?.getBuiltinModule?.('node:fs') as Files | undefined
  if (files === undefined) throw new Error('this runtime has no files for the spool')
  return files
}
