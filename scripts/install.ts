/**
 * Installs the dependencies that the lock file names, unless the ones that are there came from the same lock file.
 * Imports built-in modules only.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dir, '..')

/** What decides about the tree. Compared by content: the times of files say nothing after a clone. */
const INPUTS = 'bun.lock package.json patches/*'

/** @returns false where they could not be installed; the reason is on standard error by then. */
export function installDependencies(): boolean {
  const stamp = join(ROOT, 'node_modules', '.earshot-installed')
  const digest = new Bun.CryptoHasher('sha256')
  for (const pattern of INPUTS.split(' '))
    for (const input of [...new Bun.Glob(pattern).scanSync(ROOT)].sort())
      digest.update(readFileSync(join(ROOT, input)))
  const expected = digest.digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === expected) return true
  process.stderr.write('Installing dependencies…\n')
  const { success } = Bun.spawnSync([process.execPath, 'install', '--frozen-lockfile'], {
    cwd: ROOT,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  })
  if (success) writeFileSync(stamp, expected)
  else process.stderr.write('The dependencies could not be installed: see above.\n')
  return success
}
