/**
 * A PostgreSQL server of one test, which may stop, crash and start again on the same data and the same port. What it has
 * committed survives as in production: only `fsync` is off, since the machine itself does not crash here.
 */
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Sql } from '../../../src/platform/db/pool.ts'
import { findBinaries } from '../../../src/platform/embedded/binaries.ts'
import { chooseRunner } from '../../../src/platform/embedded/runner.ts'
import { eventually } from '../../support/eventually.ts'

/** Shutdown modes as PostgreSQL calls them. `immediate` is a crash: unflushed log records are lost. */
type StopMode = 'fast' | 'immediate'

export interface PrivatePostgres {
  readonly port: number
  readonly url: string
  /** Of its Unix socket. */
  readonly socketFolder: string
  /** Stops the server and starts it again; resolves when it answers. */
  restart(mode: StopMode): Promise<void>
  /** Keeps a copy of the data, as a standby that falls behind from now on has it. */
  fallBehind(): Promise<void>
  /** The server is gone, and the standby takes its place: what was committed since `fallBehind` is lost. */
  failOver(): Promise<void>
  /** Ends it at once, as a lost machine does, and keeps its folder. */
  crash(): Promise<void>
  /** A server on another port that follows this one. While it does, each commit here waits for it. */
  startStandby(port: number): Promise<PrivatePostgres>
  /** Makes a standby the primary server. */
  promote(): Promise<void>
  /** Ends it and removes its folder. */
  stop(): Promise<void>
}

const SETTINGS = ['fsync=off', 'full_page_writes=off', 'max_connections=200', 'listen_addresses=127.0.0.1']
/** Asynchronous commits are flushed later than usual, so that a crash loses some. */
const LAZY = ['wal_writer_delay=2s', 'wal_writer_flush_after=100MB']

/** Creates a cluster and starts it. */
export function startPrivatePostgres(port: number): Promise<PrivatePostgres> {
  return start(port, async ({ program, data, root }) => {
    const initdb = Bun.spawn(
      [
        ...program('initdb'),
        '-D',
        data,
        '-U',
        'postgres',
        '--auth=trust',
        '--encoding=UTF8',
        '--locale=C',
        '--no-sync',
      ],
      {
        cwd: root,
        env: { ...process.env, LC_ALL: 'C' },
        stdin: 'ignore',
        stdout: 'ignore',
        stderr: 'inherit',
      },
    )
    if ((await initdb.exited) !== 0) throw new Error('initdb failed')
  })
}

interface Place {
  readonly root: string
  readonly data: string
  /** The beginning of a command that runs one of PostgreSQL's programs. */
  program(name: string): string[]
}

async function start(port: number, fill: (place: Place) => Promise<void>): Promise<PrivatePostgres> {
  const root = mkdtempSync(join(tmpdir(), 'earshot-postgres-'))
  chmodSync(root, 0o711)
  const home = join(root, 'home')
  const data = join(home, 'data')
  const { prefix, binaries } = await chooseRunner(
    { root, home, data, socket: join(home, 'socket') },
    await findBinaries(root),
  )
  const program = (name: string) => [...prefix, join(binaries.folder, 'bin', name)]
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  await fill({ root, data, program })
  const settings = [...SETTINGS, ...LAZY, `unix_socket_directories=${data}`].flatMap((setting) => [
    '-c',
    setting,
  ])
  const launch = async () => {
    const child = Bun.spawn([...program('postgres'), '-D', data, '-p', String(port), ...settings], {
      cwd: root,
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'ignore',
    })
    await eventually(() => answers(url), { deadlineMs: 60_000 })
    return child
  }
  let child = await launch()
  let isCrashed = false
  const end = async (signal: NodeJS.Signals) => {
    process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), signal)
    await child.exited
  }
  const withServer = async (work: (sql: Sql) => Promise<unknown>) => {
    const sql = connect(
      { url: `${url}?target_session_attrs=any` },
      { max: 1, applicationName: 'test-server' },
    )
    await work(sql).finally(() => sql.end({ timeout: 1 }))
  }
  return {
    port,
    url,
    socketFolder: data,
    async restart(mode) {
      await end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
      child = await launch()
    },
    async fallBehind() {
      await end('SIGINT')
      // With owner and rights.
      if ((await Bun.spawn(['cp', '-a', data, `${data}-standby`]).exited) !== 0) throw new Error('cp failed')
      child = await launch()
    },
    async failOver() {
      await end('SIGQUIT')
      rmSync(data, { recursive: true })
      renameSync(`${data}-standby`, data)
      writeFileSync(join(data, 'standby.signal'), '')
      child = await launch()
      await withServer((sql) => sql`select pg_promote()`)
    },
    async crash() {
      await end('SIGQUIT')
      isCrashed = true
    },
    async startStandby(standbyPort) {
      const standby = await start(standbyPort, (place) =>
        withServer((sql) => copyInto(place, { sql, data, port })),
      )
      await withServer(async (sql) => {
        await sql.unsafe(`alter system set synchronous_standby_names = '*'`)
        await sql`select pg_reload_conf()`
        await eventually(
          async () => (await sql`select from pg_stat_replication where sync_state = 'sync'`).length > 0,
          { deadlineMs: 60_000 },
        )
      })
      return standby
    },
    promote: () => withServer((sql) => sql`select pg_promote()`),
    async stop() {
      if (!isCrashed) await end('SIGQUIT')
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** A base backup: a copy of the folder of a running server, and what makes the copy its standby. */
async function copyInto(
  { root, data: target }: Place,
  { sql, data, port }: { readonly sql: Sql; readonly data: string; readonly port: number },
): Promise<void> {
  // One connection: the backup belongs to it.
  await sql`select pg_backup_start('standby', true)`
  // Files may disappear meanwhile. The log, which is copied too, has what happened to them.
  const copy = Bun.spawnSync(['cp', '-a', data, target], { cwd: root, stderr: 'ignore' })
  if (!copy.success && copy.exitCode !== 1) throw new Error('the copy failed')
  const [label] = await sql<{ labelfile: string }[]>`select labelfile from pg_backup_stop(false)`
  rmSync(join(target, 'postmaster.pid'), { force: true })
  const owner = statSync(data)
  const files = {
    backup_label: label?.labelfile ?? '',
    'standby.signal': '',
    'postgresql.auto.conf': `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres'\n`,
  }
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(target, name), text, { mode: 0o600 })
    chownSync(join(target, name), owner.uid, owner.gid)
  }
}

async function answers(url: string): Promise<boolean> {
  const sql = connect({ url: `${url}?target_session_attrs=any` }, { max: 1, applicationName: 'test-start' })
  try {
    await sql`select 1`
    return true
  } finally {
    await sql.end({ timeout: 0 })
  }
}

/** A free port of the loopback interface. */
export function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = listener
  listener.stop(true)
  return port
}
