/** Unusual data folders: long names, spaces, root-only access, not a folder at all. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EARSHOT, EARSHOT_SOURCE, executable } from '../support/executable.ts'
import { useServices } from '../support/process.ts'
import { postgresPid, processesNaming } from './facts.ts'

setDefaultTimeout(300_000)

const isRoot = process.geteuid?.() === 0

describe('data folder', () => {
  const services = useServices()

  async function startAndStop(dataDir: string, program = EARSHOT) {
    const service = await services.start({ command: [...program, 'serve'], env: { DATA_DIR: dataDir } })
    const ready = (await (await fetch(`${service.baseUrl}/ready`)).json()) as { status: string }
    const owner = Bun.spawnSync(['ps', '-o', 'uid=', '-p', String(postgresPid(dataDir))])
      .stdout.toString()
      .trim()
    expect(await service.kill()).toBe(0)
    expect(processesNaming(dataDir)).toEqual([])
    return { status: ready.status, owner: Number(owner), output: service.output() }
  }

  test('with spaces, commas and a quote, and too long for a socket address', async () => {
    const dataDir = join(services.folder, `it's a folder, with spaces ${'and a long name '.repeat(8)}`.trim())
    const { status, output } = await startAndStop(dataDir)
    expect(status).toBe('ready')
    expect(output).toContain(dataDir)
  })

  test.if(isRoot)('as root, below a root-only folder: PostgreSQL runs nevertheless', async () => {
    const closed = join(services.folder, 'closed')
    mkdirSync(closed, { mode: 0o700 })
    expect((await startAndStop(join(closed, 'data'))).status).toBe('ready')
  })

  test.if(isRoot)(
    'as root, in a folder that other users may enter: PostgreSQL runs as an unprivileged user',
    async () => {
      // The folder of the test is closed to other users.
      const open = join(tmpdir(), `earshot-open-${crypto.randomUUID()}`)
      mkdirSync(open, { mode: 0o755 })
      try {
        const { status, owner } = await startAndStop(open)
        expect(status).toBe('ready')
        expect(owner).not.toBe(0)
      } finally {
        await Bun.$`rm -rf ${open}`
      }
    },
  )

  test('with double quotes, from source: PostgreSQL runs from its package', async () => {
    const { status } = await startAndStop(join(services.folder, 'from "source"'), EARSHOT_SOURCE)
    expect(status).toBe('ready')
  })

  test.each(['a "folder"', 'a $folder', 'a `folder`', 'a fol\\der'])(
    'called %p is refused with one line by the executable, which unpacks PostgreSQL there',
    async (name) => {
      const env = { DATA_DIR: join(services.folder, name) }
      const service = await services.start({ command: [executable()], ready: 'none', env })
      expect(await service.exited).toBe(1)
      expect(service.output()).toMatch(
        /^The embedded PostgreSQL cannot run from the folder .+: set DATA_DIR .+\n$/,
      )
    },
  )

  test('that is a file is refused with one line', async () => {
    const file = join(services.folder, 'file')
    await Bun.write(file, '')
    const service = await services.start({ ready: 'none', env: { DATA_DIR: file } })
    expect(await service.exited).toBe(1)
    expect(service.output()).toMatch(
      /^DATA_DIR is ".+\/file", but must be a folder that can be written: .+\n$/,
    )
  })

  test('with data of another PostgreSQL version is refused with one line', async () => {
    const dataDir = join(services.folder, 'old')
    mkdirSync(join(dataDir, 'postgres', 'data'), { recursive: true })
    await Bun.write(join(dataDir, 'postgres', 'data', 'PG_VERSION'), '15\n')
    const service = await services.start({ ready: 'none', env: { DATA_DIR: dataDir } })
    expect(await service.exited).toBe(1)
    expect(service.output()).toMatch(
      /^PostgreSQL 15 created \S+\/data, but this version of Earshot contains PostgreSQL 18.+\n$/,
    )
  })
})
