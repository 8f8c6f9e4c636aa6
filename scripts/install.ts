/**
 * Installs the dependencies that the lock file names, unless the ones that are there came from the same lock file.
 * Imports built-in modules only.
 */
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dir, '..')

/** What decides about the tree. Compared by content: the times of files say nothing after a clone. */
const INPUTS = ['bun.lock', 'package.json', 'patches/*']

export interface InstallOptions {
  /** `service`: what runs the service. `all`: also what checks it. A complete installation serves both. */
  readonly need: 'service' | 'all'
  /** Called before the process exits because the installation failed. */
  readonly onFailure?: () => void
}

/**
 * Returns where the dependencies are there. Where they had to be installed, the program begins again in this process's
 * place: Bun remembers the folders of packages that it found, and did not find, when it started. Where that failed, the
 * process exits after `onFailure`; the reason is on standard error by then.
 */
export function installDependencies({ need, onFailure = () => {} }: InstallOptions): void {
  const stamp = join(ROOT, 'node_modules', '.earshot-installed')
  const digest = digestOfInputs()
  const enough = need === 'all' ? [`${digest} all`] : [`${digest} all`, `${digest} service`]
  if (existsSync(stamp) && enough.includes(readFileSync(stamp, 'utf8'))) return
  process.stderr.write('Installing dependencies…\n')
  const only = need === 'service' ? ['--production'] : []
  const { success } = Bun.spawnSync([process.execPath, 'install', '--frozen-lockfile', ...only], {
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
  removeOtherPlatforms()
  writeFileSync(stamp, `${digest} ${need}`)
  process.execve?.(
    process.execPath,
    [process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    process.env,
  )
}

/** `ffprobe-static` holds a program for each platform, 340 MB together. Only the one for this machine is kept. */
function removeOtherPlatforms(): void {
  const programs = join(ROOT, 'node_modules', 'ffprobe-static', 'bin')
  const own = join(programs, process.platform, process.arch)
  for (const folder of globSync(join(programs, '*', '*')))
    if (folder !== own) rmSync(folder, { recursive: true, force: true })
}

function digestOfInputs(): string {
  const digest = new Bun.CryptoHasher('sha256')
  for (const pattern of INPUTS) {
    for (const input of [...new Bun.Glob(pattern).scanSync(ROOT)].sort())
      digest.update(readFileSync(join(ROOT, input)))
  }
  return digest.digest('hex')
}
