/**
 * Installs the dependencies that the lock file names, unless they are installed already. Imports built-in modules only.
 */
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dir, '..')

/** Files that determine the dependencies. They are compared by content, because a clone sets new times. */
const INPUTS = ['bun.lock', 'package.json', 'patches/*']

export interface InstallOptions {
  /** `service`: dependencies of the service. `all`: also those of the tests, which includes the former. */
  readonly need: 'service' | 'all'
  /** Called before the process exits because the installation failed. */
  readonly onFailure?: () => void
}

/**
 * Returns if the dependencies are present. Otherwise it installs them and starts the program again in this process,
 * because Bun remembers from its start which packages exist. If the installation fails, the error is printed and the
 * process exits after `onFailure`.
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
    process.stderr.write('The installation of the dependencies failed. See the output above.\n')
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
