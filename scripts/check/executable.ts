/**
 * The executable that the tests start as the service and as its commands. It is built once for a check: it starts in half
 * of the time of the source tree, and it is what operators run.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runStep } from './process.ts'

export interface Executable extends AsyncDisposable {
  readonly path: string
}

/** Whether the selected test files may start the service. Unit tests do not. */
export const needsExecutable = (files: readonly string[]) =>
  files.some((file) => !file.startsWith('tests/unit/'))

/** Builds it in a temporary folder, which disposing removes. @throws Error with the output of a build that failed */
export async function buildExecutable(root: string, signal: AbortSignal): Promise<Executable> {
  const folder = await mkdtemp(join(tmpdir(), 'earshot-executable-'))
  const path = join(folder, 'earshot')
  const remove = () => rm(folder, { recursive: true, force: true })
  const command = [process.execPath, 'scripts/build.ts', path]
  const { failure } = await runStep('executable', command, { cwd: root, signal })
  if (failure !== null || signal.aborted) {
    await remove()
    throw new Error(`bun run build failed:\n${failure}`)
  }
  return { path, [Symbol.asyncDispose]: remove }
}
