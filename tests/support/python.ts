/** Python programs that use the SDK of `sdk/python`. */
import { existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dir, '../..')
export const PYTHON_SDK = join(ROOT, 'sdk/python')

const OLDEST = 10

export interface Python {
  readonly path: string
  /** Such as `3.11`. */
  readonly version: string
}

/**
 * Every Python 3 from 3.10 on that is installed, one of each minor version: on the PATH, or by pyenv.
 * @throws Error of one line if there is none
 */
export function pythons(): readonly [Python, ...Python[]] {
  const found = new Map<string, Python>()
  for (const path of candidates()) {
    const { stdout } = Bun.spawnSync([path, '-c', 'import sys; print("%d.%d" % sys.version_info[:2])'])
    const [, version = '', minor = '0'] = /^(3\.(\d+))$/.exec(stdout.toString().trim()) ?? []
    if (Number(minor) >= OLDEST && !found.has(version)) found.set(version, { path, version })
  }
  const [first, ...others] = found.values()
  if (first === undefined)
    throw new Error(
      'The tests need Python 3.10 or later. Install it and run the check again: sudo apt-get install python3 python3-venv',
    )
  return [first, ...others]
}

function candidates(): readonly string[] {
  const names = ['python3', ...Array.from({ length: 10 }, (_, index) => `python3.${OLDEST + index}`)]
  const versions = join(process.env.PYENV_ROOT ?? join(homedir(), '.pyenv'), 'versions')
  const managed = existsSync(versions)
    ? readdirSync(versions).map((name) => join(versions, name, 'bin/python3'))
    : []
  const onPath = names.flatMap((name) => Bun.which(name) ?? [])
  return [...onPath, ...managed.filter((path) => existsSync(path))]
}

export interface PythonRun {
  readonly code: number
  readonly output: string
  readonly errors: string
}

/** Runs a program with the SDK of the source tree and nothing of the environment but `env`. */
export async function runPython(
  python: Python,
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string } = {},
): Promise<PythonRun> {
  const child = Bun.spawn([python.path, ...args], {
    cwd: options.cwd ?? PYTHON_SDK,
    env: {
      PATH: process.env.PATH ?? '',
      PYTHONPATH: join(PYTHON_SDK, 'src'),
      PYTHONDONTWRITEBYTECODE: '1',
      ...options.env,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, output, errors }
}
