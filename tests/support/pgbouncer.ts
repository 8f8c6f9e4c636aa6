/** PgBouncer in front of a PostgreSQL server. It may be stopped and started again on the same port. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../crash/support/private-postgres.ts'
import { eventually } from './eventually.ts'

export interface PgBouncer {
  readonly port: number
  /** Ends it at once, as a crash does. Connections are cut. */
  kill(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

export interface PgBouncerOptions {
  readonly mode: 'transaction' | 'session'
  /** The server. */
  readonly host?: string
  readonly port: number
  /** Names of the roles that may connect. They have no password. */
  readonly users: readonly string[]
  /** Connections to the server for each role. */
  readonly poolSize?: number
}

/** Starts it on a free port. Without other settings than those above, it refuses start-up parameters that it does not know. */
export async function startPgBouncer(options: PgBouncerOptions): Promise<PgBouncer> {
  const { mode, host = '127.0.0.1', port: serverPort, users, poolSize = 8 } = options
  const folder = mkdtempSync(join(tmpdir(), 'earshot-pgbouncer-'))
  chmodSync(folder, 0o755)
  const port = freePort()
  const [config, userList] = [join(folder, 'pgbouncer.ini'), join(folder, 'users.txt')]
  writeFileSync(userList, users.map((user) => `"${user}" ""\n`).join(''), { mode: 0o644 })
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: userList,
    pool_mode: mode,
    default_pool_size: poolSize,
    max_client_conn: 500,
    server_login_retry: 1,
    query_wait_timeout: 3,
    // It refuses to run as root.
    ...(process.getuid?.() === 0 ? { user: 'nobody' } : {}),
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  writeFileSync(
    config,
    `[databases]\n* = host=${host} port=${serverPort}\n\n[pgbouncer]\n${lines.join('\n')}\n`,
    { mode: 0o644 },
  )
  const launch = async () => {
    const child = Bun.spawn(['pgbouncer', '-q', config], {
      env: { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` },
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'ignore',
    })
    await eventually(() => listens(port), { deadlineMs: 20_000 })
    return child
  }
  let child = await launch()
  const kill = async () => {
    child.kill('SIGKILL')
    await child.exited
  }
  return {
    port,
    kill,
    async start() {
      child = await launch()
    },
    async stop() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = createConnection({ host: '127.0.0.1', port })
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}
