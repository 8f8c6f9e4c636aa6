/**
 * What this process may use of the machine. A container or a service manager limits it by control groups, in one of two versions, and a
 * limit of any group above the own one counts, too. The runtime knows processors by affinity, but not every limit of a group.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { dirname, join } from 'node:path'

export interface Machine {
  /** Whole processors, 1 at least. */
  readonly processors: number
  readonly memoryBytes: number
}

const GROUPS = '/sys/fs/cgroup'

/** @param root the folder that holds `proc` and `sys` */
export function readMachine(root = '/'): Machine {
  const folders = groupFolders(read(join(root, 'proc/self/cgroup'))).map((folder) => join(root, folder))
  const processors = [availableParallelism(), ...folders.flatMap(quotaOf)]
  const memory = [totalmem(), ...folders.flatMap(limitOf)]
  return { processors: Math.max(1, Math.floor(Math.min(...processors))), memoryBytes: Math.min(...memory) }
}

/**
 * The folders of the groups of a process and of all groups above. Inside a container the path may be that of the host, which is not there,
 * and the group of the container is the upmost folder.
 */
function groupFolders(list: string): readonly string[] {
  return list.split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []
    if (controllers === undefined || path === undefined) return []
    const mounts =
      controllers === '' ? [GROUPS] : [controllers, ...controllers.split(',')].map((one) => join(GROUPS, one))
    // A path with `..` is outside of what the process sees, so the mount itself is its group.
    return mounts.flatMap((mount) =>
      withAncestors(path.includes('..') ? '/' : path).map((one) => join(mount, one)),
    )
  })
}

const withAncestors = (path: string): readonly string[] =>
  path === '/' ? [path] : [path, ...withAncestors(dirname(path))]

/** Processors: none or one number. Version 2 has `cpu.max`, version 1 two files. Without a quota they say `max` and -1. */
function quotaOf(folder: string): readonly number[] {
  const [quota, period] = read(join(folder, 'cpu.max')).split(' ')
  return positive(
    Number(quota || read(join(folder, 'cpu.cfs_quota_us')) || Number.NaN) /
      Number(period || read(join(folder, 'cpu.cfs_period_us'))),
  )
}

/** Bytes. Beyond `memory.high` the system slows a process so much that it counts as the limit. */
function limitOf(folder: string): readonly number[] {
  return ['memory.max', 'memory.high', 'memory.limit_in_bytes'].flatMap((name) =>
    positive(Number(read(join(folder, name)) || Number.NaN)),
  )
}

const positive = (value: number): readonly number[] => (value > 0 && Number.isFinite(value) ? [value] : [])

/** An empty text where there is no such file. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}
