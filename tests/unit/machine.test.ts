/** What a process may use: the files of control groups as the kernel writes them, in folders of their own. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { capacityOf } from '../../src/app/settings/machine.ts'
import { readMachine } from '../../src/platform/lifecycle/machine.ts'

const MIB = 1024 ** 2
const folder = mkdtempSync(join(tmpdir(), 'earshot-machine-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** @param files content by path */
function machineOf(files: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(folder, 'root-'))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), `${content}\n`)
  }
  return readMachine(root)
}

const WHOLE = { processors: availableParallelism(), memoryBytes: totalmem() }
const GROUPS = 'sys/fs/cgroup'

describe('the machine of a process', () => {
  test('without control groups and without limits it is the whole machine', () => {
    expect(machineOf({})).toEqual(WHOLE)
    expect(
      machineOf({
        'proc/self/cgroup': '0::/',
        [`${GROUPS}/cpu.max`]: 'max 100000',
        [`${GROUPS}/memory.max`]: 'max',
        [`${GROUPS}/memory.high`]: 'max',
      }),
    ).toEqual(WHOLE)
    expect(
      machineOf({
        'proc/self/cgroup': '2:memory:/\n1:cpu,cpuacct:/',
        [`${GROUPS}/memory/memory.limit_in_bytes`]: '9223372036854771712',
        [`${GROUPS}/cpu,cpuacct/cpu.cfs_quota_us`]: '-1',
        [`${GROUPS}/cpu,cpuacct/cpu.cfs_period_us`]: '100000',
      }),
    ).toEqual(WHOLE)
  })

  test('version 2 in a container: its group is the upmost folder', () => {
    expect(
      machineOf({
        'proc/self/cgroup': '0::/',
        [`${GROUPS}/cpu.max`]: '50000 100000',
        [`${GROUPS}/memory.max`]: String(512 * MIB),
      }),
    ).toEqual({ processors: 1, memoryBytes: 512 * MIB })
  })

  test('version 2 under a service manager: the own group, and a smaller one above it', () => {
    const own = 'system.slice/earshot.service'
    const files = {
      'proc/self/cgroup': `0::/${own}`,
      [`${GROUPS}/${own}/memory.max`]: String(900 * MIB),
      [`${GROUPS}/${own}/cpu.max`]: 'max 100000',
    }
    expect(machineOf(files).memoryBytes).toBe(900 * MIB)
    const within = { ...files, [`${GROUPS}/system.slice/memory.max`]: String(300 * MIB) }
    expect(machineOf(within).memoryBytes).toBe(300 * MIB)
    const slowed = { ...files, [`${GROUPS}/${own}/memory.high`]: String(400 * MIB) }
    expect(machineOf(slowed).memoryBytes).toBe(400 * MIB)
    expect(machineOf({ ...files, [`${GROUPS}/system.slice/cpu.max`]: '100000 100000' }).processors).toBe(1)
  })

  test('version 1: memory and processors in trees of their own, with groups above', () => {
    const files = {
      'proc/self/cgroup': '4:memory:/pod/one\n1:cpu,cpuacct:/pod/one\n0::/',
      [`${GROUPS}/memory/pod/memory.limit_in_bytes`]: String(256 * MIB),
      [`${GROUPS}/memory/pod/one/memory.limit_in_bytes`]: '9223372036854771712',
      [`${GROUPS}/cpu/pod/one/cpu.cfs_quota_us`]: '150000',
      [`${GROUPS}/cpu/pod/one/cpu.cfs_period_us`]: '100000',
    }
    expect(machineOf(files)).toEqual({ processors: 1, memoryBytes: 256 * MIB })
  })

  test('version 1 in a container that sees the path of the host', () => {
    const files = {
      'proc/self/cgroup': '4:memory:/docker/0af3\n1:cpu:/docker/0af3',
      [`${GROUPS}/memory/memory.limit_in_bytes`]: String(512 * MIB),
      [`${GROUPS}/cpu/cpu.cfs_quota_us`]: '10000',
      [`${GROUPS}/cpu/cpu.cfs_period_us`]: '100000',
    }
    expect(machineOf(files)).toEqual({ processors: 1, memoryBytes: 512 * MIB })
  })
})

describe('what follows the machine', () => {
  const threads = (processors: number, mebibytes: number) =>
    capacityOf({ processors, memoryBytes: mebibytes * MIB }).workerThreads

  test('threads are as many as processors, at most 8, and as memory allows', () => {
    expect(threads(2, 64_000)).toBe(2)
    expect(threads(64, 64_000)).toBe(8)
    expect(threads(8, 4_000)).toBe(5)
    expect(threads(8, 1_536)).toBe(2)
    expect(threads(8, 1_535)).toBe(1)
    expect(threads(1, 64_000)).toBe(1)
  })

  test('little memory: one process for texts, fewer connections, a small heap and database', () => {
    expect(capacityOf({ processors: 8, memoryBytes: 512 * MIB })).toMatchObject({
      textProcesses: 1,
      requestThreads: 1,
      mediaSlots: 1,
      heapBytes: 64 * MIB,
      postgres: 'small',
    })
    expect(capacityOf({ processors: 8, memoryBytes: 4_096 * MIB })).toMatchObject({
      textProcesses: 2,
      requestThreads: 2,
      mediaSlots: 2,
      heapBytes: null,
      postgres: 'usual',
    })
  })
})
