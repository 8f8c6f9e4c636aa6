/** The embedded servers after their process is killed or their folder disappears. */

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../support/eventually.ts'
import { EARSHOT } from '../support/executable.ts'
import { useServices } from '../support/process.ts'
import { applicationKeys, demoCredentials, postgresPid, processesNaming } from './facts.ts'

setDefaultTimeout(300_000)

/** The guarantee: embedded servers end within this time after their process. */
const ORPHANS_END_MS = 15_000

const isWatchdog = (line: string) => line.includes('watchdog')
const servers = (folder: string) => processesNaming(folder).filter((line) => !isWatchdog(line))
// Of one list, because PostgreSQL starts and ends processes all the time.
const watchdogsOf = (folder: string) => processesNaming(folder).filter(isWatchdog).length

describe('kill -9 of the whole process group', () => {
  const services = useServices()
  const dataDir = join(services.folder, 'data')

  test('the servers and the watchdog end by themselves within 15 s, and the next start has the data', async () => {
    const service = await services.start({ group: true })
    expect(servers(dataDir).length).toBeGreaterThan(0)
    await service.killGroup()
    await eventually(() => processesNaming(dataDir).length === 0, { deadlineMs: ORPHANS_END_MS })
    expect(existsSync(join(dataDir, 'postgres/data/postmaster.pid'))).toBe(false)
    const next = await services.start()
    expect(await applicationKeys(next.baseUrl, demoCredentials(dataDir))).toEqual(['demo'])
    expect(await next.kill()).toBe(0)
    expect(processesNaming(dataDir)).toEqual([])
  })

  test('an immediate restart keeps its servers', async () => {
    const service = await services.start({ group: true })
    const watchdogs = watchdogsOf(dataDir)
    await service.killGroup()
    const next = await services.start()
    // The first watchdog has finished: only that of the second service is left.
    await eventually(
      () =>
        !processesNaming(dataDir).some((line) => line.includes('servers stop') && !line.includes('watchdog')),
    )
    await eventually(() => watchdogsOf(dataDir) === watchdogs)
    const pid = postgresPid(dataDir)
    expect(await applicationKeys(next.baseUrl, demoCredentials(dataDir))).toEqual(['demo'])
    expect(() => process.kill(pid, 0)).not.toThrow()
    expect(await next.kill()).toBe(0)
    expect(processesNaming(dataDir)).toEqual([])
  })

  test('a killed watchdog is restarted', async () => {
    const service = await services.start({ group: true })
    const before = watchdogPid(dataDir)
    process.kill(before ?? 0, 'SIGKILL')
    await eventually(() => ![before, null].includes(watchdogPid(dataDir)))
    await service.killGroup()
    await eventually(() => processesNaming(dataDir).length === 0, { deadlineMs: ORPHANS_END_MS })
  })

  test('servers stop: leaves the servers of a running service alone, and finds none afterwards', async () => {
    const service = await services.start()
    const command = async () => {
      const run = await services.start({
        command: [...EARSHOT, 'servers', 'stop', '--json'],
        ready: 'none',
      })
      expect(await run.exited).toBe(0)
      return JSON.parse(run.output())
    }
    expect(await command()).toEqual({ outcome: 'used' })
    expect((await fetch(`${service.baseUrl}/ready`)).status).toBe(200)
    expect(await service.kill()).toBe(0)
    expect(await command()).toEqual({ outcome: 'none' })
  })
})

describe('DATA_DIR disappears while the service runs', () => {
  const services = useServices()

  test.concurrent.each(['removed', 'moved away'])(
    '%s: the service ends with one line and creates no database',
    async (how) => {
      const dataDir = join(services.folder, how)
      const service = await services.start({ env: { DATA_DIR: dataDir, LOG_LEVEL: 'silent' } })
      const banner = service.output()
      if (how === 'removed') rmSync(dataDir, { recursive: true, force: true })
      else renameSync(dataDir, `${dataDir} elsewhere`)
      expect(await service.exited).toBe(1)
      expect(service.output().slice(banner.length)).toBe(
        `DATA_DIR is ${JSON.stringify(dataDir)}, but its database ${dataDir}/postgres/data disappeared while it was in use: ` +
          'restore the folder from a backup, or start again, which creates an empty database\n',
      )
      // A file that PostgreSQL wrote during the removal may have kept its folder; a cluster has this file.
      expect(existsSync(join(dataDir, 'postgres', 'data', 'PG_VERSION'))).toBe(false)
      expect(processesNaming(dataDir)).toEqual([])
    },
  )

  test.concurrent('PostgreSQL ends at once because its data is gone: no new cluster is created', async () => {
    const dataDir = join(services.folder, 'emptied')
    const service = await services.start({ env: { DATA_DIR: dataDir, LOG_LEVEL: 'silent' } })
    const data = join(dataDir, 'postgres', 'data')
    const pid = postgresPid(dataDir)
    // Atomically, because the service watches the folder all the time.
    renameSync(data, `${data}.gone`)
    process.kill(pid, 'SIGQUIT')
    expect(await service.exited).toBe(1)
    expect(service.output()).toContain('disappeared while it was in use')
    expect(existsSync(data)).toBe(false)
    expect(processesNaming(dataDir)).toEqual([])
  })
})

function watchdogPid(dataDir: string): number | null {
  const { stdout } = Bun.spawnSync(['ps', '-axww', '-o', 'pid=,command='])
  const line = stdout
    .toString()
    .split('\n')
    .find((one) => one.includes(dataDir) && one.includes('watchdog'))
  return line === undefined ? null : Number.parseInt(line, 10)
}
