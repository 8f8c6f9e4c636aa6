/** A control group with a limit of memory, for a benchmark as root on Linux. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [V1, V2] = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup']
const MIB = 1024 ** 2
const EMPTY_WITHIN_MS = 30_000

export interface MemoryGroup extends AsyncDisposable {
  /** A command that runs the given one in the group. `$0` of it is the program, a copy in `folder`, so that its pages count in the group. */
  wrap(program: string, folder: string, words: readonly string[]): readonly string[]
  /** Processes that the system ended because memory ran out. */
  killed(): number
}

/** @throws Error where groups cannot be made */
export function createMemoryGroup(mebibytes: number): MemoryGroup {
  const isFirst = existsSync(join(V1, 'memory.limit_in_bytes'))
  // Below the own group, so that its limits still count.
  const own = isFirst ? (/:memory:(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '/') : '/'
  const folder = join(isFirst ? V1 : V2, own, `earshot-bench-${process.pid}`)
  const limit = join(folder, isFirst ? 'memory.limit_in_bytes' : 'memory.max')
  const members = join(folder, 'cgroup.procs')
  try {
    mkdirSync(folder)
    writeFileSync(limit, String(mebibytes * MIB))
  } catch (error) {
    throw new Error(`this benchmark needs root and a control group of memory: ${error}`)
  }
  return {
    wrap: (program, data, words) => {
      const script = `echo $$ > ${members}; mkdir -p "$1"; cp "$0" "$1/program"; shift; exec "$DATA_DIR/program" "$@"`
      return ['/bin/sh', '-c', script, program, data, ...words]
    },
    killed() {
      const text = readFileSync(join(folder, isFirst ? 'memory.oom_control' : 'memory.events'), 'utf8')
      return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0)
    },
    async [Symbol.asyncDispose]() {
      const deadline = performance.now() + EMPTY_WITHIN_MS
      while (readFileSync(members, 'utf8') !== '' && performance.now() < deadline) await Bun.sleep(100)
      rmdirSync(folder)
    },
  }
}
