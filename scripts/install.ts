/**
 * Installs the dependencies that the lock file names, unless the ones that are there came from the same lock file.
 * Imports built-in modules only.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dir, '..')

/** What decides about the tree. Compared by content: the times of files say nothing after a clone. */
const INPUTS = ['bun.lock', 'package.json', 'patches/*']

/**
 * Returns where the dependencies are there. Where they had to be installed, the program begins again in this process's
 * place: Bun remembers the folders of packages that it found, and did not find, when it started. Where that failed, the
 * process exits after `onFailure`; the reason is on standard error by then.
 */
export function installDependencies(onFailure: () => void = () => {}): void {
  const stamp = join(ROOT, 'node_modules', '.earshot-installed')
  const expected = digestOfInputs()
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === expected) return
  process.stderr.write('Installing dependencies…\n')
  const { success } = Bun.spawnSync([process.execPath, 'install', '--frozen-lockfile'], {
    cwd: ROOT,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  })
  if (!success) {
    process.stderr.write('The dependencies could not be installed: see above.\n')
    onFailure()
    process.exit(1)
  }
  writeFileSync(stamp, expected)
  process.execve?.(
    process.execPath,
    [process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    process.env,
  )
}

function digestOfInputs(): string {
  const digest = new Bun.CryptoHasher('sha256')
  for (const pattern of INPUTS) {
    for (const input of [...new Bun.Glob(pattern).scanSync(ROOT)].sort())
      digest.update(readFileSync(join(ROOT, input)))
  }
  return digest.digest('hex')
}
