/**
 * A PostgreSQL server of one test, which may stop, crash and start again on the same data and the same port. What it has
 * committed survives as in production: only `fsync` is off, since the machine itself does not crash here.
 */
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '../../../src/platform/db/pool.ts'
import { findBinaries } from '../../../src/platform/embedded/binaries.ts'
import { chooseRunner } from '../../../src/platform/embedded/runner.ts'
import { eventually } from '../../support/eventually.ts'

/** Shutdown modes as PostgreSQL calls them. `immediate` is a crash: unflushed log records are lost. */
type StopMode = 'fast' | 'immediate'

export interface PrivatePostgres {
  readonly port: number
  readonly url: string
  /** Stops the server and starts it again; resolves when it answers. */
  restart(mode: StopMode): Promise<void>
  /** Keeps a copy of the data, as a standby that falls behind from now on has it. */
  fallBehind(): Promise<void>
  /** The server is gone, and the standby takes its place: what was committed since `fallBehind` is lost. */
  failOver(): Promise<void>
  /** Ends it and removes its folder. */
  stop(): Promise<void>
}

const SETTINGS = ['fsync=off', 'full_page_writes=off', 'max_connections=200', 'listen_addresses=127.0.0.1']
/** Asynchronous commits are flushed later than usual, so that a crash loses some. */
const LAZY = ['wal_writer_delay=2s', 'wal_writer_flush_after=100MB']

/** Creates a cluster and starts it. */
export async function startPrivatePostgres(port: number): Promise<PrivatePostgres> {
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
    { cwd: root, env: { ...process.env, LC_ALL: 'C' }, stdin: 'ignore', stdout: 'ignore', stderr: 'inherit' },
  )
  if ((await initdb.exited) !== 0) throw new Error('initdb failed')
  const settings = [...SETTINGS, ...LAZY, 'unix_socket_directories='].flatMap((setting) => ['-c', setting])
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
  const end = async (signal: NodeJS.Signals) => {
    process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), signal)
    await child.exited
  }
  return {
    port,
    url,
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
      const sql = connect({ url }, { max: 1, applicationName: 'test-promotion' })
      await sql`select pg_promote()`
      await sql.end({ timeout: 0 })
    },
    async stop() {
      await end('SIGQUIT')
      rmSync(root, { recursive: true, force: true })
    },
  }
}

async function answers(url: string): Promise<boolean> {
  const sql = connect({ url }, { max: 1, applicationName: 'test-start' })
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
