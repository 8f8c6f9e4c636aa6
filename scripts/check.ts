/**
 * `bun run check [path …]`: installs what the lock file names, type-checks, lints, and runs every test (or those whose
 * path contains an argument) against private servers. The last line is `N passed, N failed[, N skipped]`.
 *
 * The rule: a fresh clone on a bare machine needs nothing else. So only built-in modules are imported up here; the
 * rest is loaded when the dependencies are there.
 */
import { resolve } from 'node:path'

const root = resolve(import.meta.dir, '..')
const install = Bun.spawnSync([process.execPath, 'install', '--frozen-lockfile'], {
  cwd: root,
  stdin: 'ignore',
  stdout: 'pipe',
  stderr: 'pipe',
})
if (install.success) {
  const { check } = await import('./check/main.ts')
  process.exit(await check(root, process.argv.slice(2)))
}
console.error(`${install.stdout}${install.stderr}`)
console.error('The dependencies could not be installed: see above.')
console.log('0 passed, 1 failed')
process.exit(1)
