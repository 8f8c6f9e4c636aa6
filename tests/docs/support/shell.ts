/**
 * One shell for the snippets of a page, so that a variable of one is there in the next. The snippets run as they stand: `curl` and
 * Bun are redirected from `localhost:3000` to the service of the test by their own configuration, and `npx -y bun` is the Bun that runs the tests.
 */
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dir, '../../..')
const SNIPPET_TIMEOUT_MS = 100_000

export interface Shell {
  /** Runs a snippet to its end. @throws Error where it does not end in time */
  run(text: string): Promise<{ readonly code: number; readonly output: string }>
  end(): Promise<void>
}

/** A folder that looks like the source tree, for what the snippets write: `.data`, reports. */
export async function createTree(folder: string): Promise<string> {
  const tree = join(folder, 'earshot')
  mkdirSync(tree)
  for (const name of await readdir(ROOT))
    if (name !== '.data' && name !== '.git') symlinkSync(join(ROOT, name), join(tree, name))
  const programs = join(folder, 'bin')
  mkdirSync(programs)
  const program = `#!/bin/sh\nshift 2\nexec '${process.execPath}' "$@"\n`
  writeFileSync(join(programs, 'npx'), program, { mode: 0o755 })
  return tree
}

/** What a snippet finds in its environment, and the service too. */
export function environmentOf(folder: string): Record<string, string> {
  return {
    PATH: `${join(folder, 'bin')}:${process.env.PATH ?? ''}`,
    HOME: folder,
    TMPDIR: folder,
    NO_COLOR: '1',
  }
}

/** @param port of the service on 127.0.0.1 */
export function openShell(folder: string, port: number): Shell {
  const connect = `connect-to = "localhost:3000:127.0.0.1:${port}"\n`
  writeFileSync(join(folder, '.curlrc'), `${connect}fail-with-body\nno-progress-meter\n`)
  const preload = join(folder, 'redirect.ts')
  writeFileSync(preload, redirectFetch(port))
  const child = Bun.spawn(['bash'], {
    cwd: join(folder, 'earshot'),
    env: { ...environmentOf(folder), BUN_OPTIONS: `--preload ${preload}` },
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'inherit',
  })
  child.stdin.write('set -o pipefail\n')
  const snippets = mkdtempSync(join(folder, 'snippets-'))
  let count = 0
  return {
    async run(text) {
      const file = join(snippets, `${++count}`)
      await Bun.write(`${file}.sh`, text)
      child.stdin.write(
        `. ${file}.sh > ${file}.out 2>&1 < /dev/null; echo $? > ${file}.part; mv ${file}.part ${file}.code\n`,
      )
      child.stdin.flush()
      const deadline = Date.now() + SNIPPET_TIMEOUT_MS
      while (!(await Bun.file(`${file}.code`).exists())) {
        const output = () => Bun.file(`${file}.out`).text()
        if (child.exitCode !== null) throw new Error(`the shell ended: ${await output()}`)
        if (Date.now() > deadline) throw new Error(`no end of ${text}: ${await output()}`)
        await Bun.sleep(20)
      }
      const code = Number(await Bun.file(`${file}.code`).text())
      return { code, output: await Bun.file(`${file}.out`).text() }
    },
    async end() {
      child.stdin.end()
      await child.exited
    },
  }
}

/** Source of a module that redirects `fetch` to the service of the test. */
function redirectFetch(port: number): string {
  return `const original = globalThis.fetch
const redirect = (url) => String(url).replace(/^http:\\/\\/localhost:3000(?=[/?]|$)/, 'http://127.0.0.1:${port}')
globalThis.fetch = Object.assign(
  (input, init) => original(input instanceof Request ? new Request(redirect(input.url), input) : redirect(input), init),
  original,
)
`
}
