/** A user without a name, as containers with `--user 12345` and OpenShift have: PostgreSQL's `initdb` refuses it. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, copyFileSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { executable } from '../support/executable.ts'
import { useServices } from '../support/process.ts'

setDefaultTimeout(300_000)

const NAMELESS = 12_345
/** Only root becomes somebody else. */
const isRoot = process.platform === 'linux' && process.geteuid?.() === 0
const AS_NAMELESS = ['setpriv', `--reuid=${NAMELESS}`, '--regid=0', '--clear-groups', '--']

describe.skipIf(!isRoot)('a user without an entry in /etc/passwd', () => {
  const services = useServices()

  /** A folder that everybody may write, with a program that everybody may run. */
  function home(name: string) {
    const folder = join(services.folder, name)
    chmodSync(services.folder, 0o755)
    mkdirSync(folder)
    chmodSync(folder, 0o777)
    const program = join(folder, 'earshot')
    copyFileSync(executable(), program)
    chmodSync(program, 0o755)
    return { command: [program, 'serve'], cwd: folder, env: { DATA_DIR: join(folder, 'data'), HOME: folder } }
  }

  test('the embedded database is created and belongs to the user', async () => {
    const { command, ...options } = home('allowed')
    const service = await services.start({ ...options, command: [...AS_NAMELESS, ...command] })
    expect(service.output()).toContain('PostgreSQL (embedded')
    expect(statSync(join(options.env.DATA_DIR, 'postgres/data')).uid).toBe(NAMELESS)
    expect(await service.kill()).toBe(0)
    const again = await services.start({ ...options, command: [...AS_NAMELESS, ...command] })
    expect(await again.kill()).toBe(0)
  })

  test('where the system has no user namespaces, the message says what to do', async () => {
    const { command, ...options } = home('denied')
    const without = [
      'unshare',
      '--mount',
      'sh',
      '-c',
      'mount --bind /bin/false "$(command -v unshare)"; exec "$@"',
      'sh',
    ]
    const service = await services.start({
      ...options,
      command: [...without, ...AS_NAMELESS, ...command],
      ready: 'none',
    })
    expect(await service.exited).toBe(1)
    expect(service.output()).toBe(
      'The embedded PostgreSQL creates no database for user id 12345, which has no entry in /etc/passwd: ' +
        'add one, start as a user that has one, or set DATABASE_URL\n',
    )
  })
})
