/** Programs end together with their work. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ProgramError, type ProgramOptions, runProgram } from '../../src/platform/lifecycle/program.ts'
import { eventually } from '../support/eventually.ts'

const environment = { PATH: process.env.PATH ?? '' }
const run = (command: readonly string[], options: Partial<ProgramOptions> = {}) =>
  runProgram(command, {
    environment,
    signal: new AbortController().signal,
    timeoutMs: 20_000,
    maxOutputBytes: 100_000,
    ...options,
  })

async function failureOf(program: Promise<unknown>): Promise<ProgramError> {
  const error = await program.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ProgramError)
  return error as ProgramError
}

/** Prints its process id and that of a child, and hangs. */
const HANGING = 'sleep 1000 & echo "$$ $!" > pids; wait'

/** A folder, and the processes that `HANGING` wrote there. */
function folderOfProcesses() {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-program-'))
  const pids = () =>
    eventually(() => {
      const numbers = readFileSync(join(folder, 'pids'), 'utf8').trim().split(' ').map(Number)
      return numbers.length === 2 && numbers
    })
  const gone = (numbers: readonly number[]) => eventually(() => !numbers.some(isAlive))
  return { folder, pids, gone, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A zombie process counts as ended.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

describe('a program', () => {
  test('gets its arguments unchanged, the given environment, and empty input', async () => {
    const script = 'cat; printf "%s|" "$@"; echo "$GIVEN"; env | grep -c SHOULD_NOT_BE_THERE'
    process.env.SHOULD_NOT_BE_THERE = '1'
    const output = await run(['sh', '-c', `${script}; true`, 'sh', 'a b', '$(x)'], {
      environment: { ...environment, GIVEN: 'yes' },
    })
    expect(output).toBe('a b|$(x)|yes\n0\n')
  })

  test('that fails is reported with its exit code and the end of its output', async () => {
    const error = await failureOf(run(['sh', '-c', 'seq 100000 >&2; printf "no\\tmodel\\n" >&2; exit 3']))
    expect([error.reason, error.lastWords]).toEqual(['exit', 'no model'])
    expect(error.message).toContain('exit code 3')
    expect(error.errorOutput.length).toBeLessThan(5_000)
  })

  test('that is missing fails', async () => {
    expect(await failureOf(run(['/nowhere/at/all']))).toMatchObject({ reason: 'exit' })
  })

  test('that hangs is killed with its children', async () => {
    using scene = folderOfProcesses()
    const error = await failureOf(run(['sh', '-c', HANGING], { timeoutMs: 500, folder: scene.folder }))
    expect(error.reason).toBe('timeout')
    await scene.gone(await scene.pids())
  })

  test('that prints endlessly is killed', async () => {
    expect(await failureOf(run(['yes']))).toMatchObject({ reason: 'output' })
    expect(await failureOf(run(['sh', '-c', 'yes >&2'], { timeoutMs: 500 }))).toMatchObject({
      reason: 'timeout',
    })
  })

  test('is killed with its children when the signal is aborted', async () => {
    using scene = folderOfProcesses()
    const controller = new AbortController()
    const program = run(['sh', '-c', HANGING], { signal: controller.signal, folder: scene.folder })
    const pids = await scene.pids()
    controller.abort(new Error('fenced'))
    await expect(program).rejects.toThrow('fenced')
    await scene.gone(pids)
  })

  test('leaves no children behind when it succeeds', async () => {
    using scene = folderOfProcesses()
    expect(
      await run(['sh', '-c', 'sleep 1000 & echo "$$ $!" > pids; echo done'], { folder: scene.folder }),
    ).toBe('done\n')
    await scene.gone(await scene.pids())
  })

  test('leaves no zombie of its group behind', async () => {
    const group = (await run(['sh', '-c', 'ps -o pgid= -p $$'])).trim()
    expect(group).toMatch(/^\d+$/)
    const { stdout } = Bun.spawnSync(['ps', '-axo', 'pgid='])
    expect(stdout.toString().split(/\s+/)).not.toContain(group)
  })

  test('is killed with its children when our process is killed', async () => {
    using scene = folderOfProcesses()
    const module = new URL('../../src/platform/lifecycle/program.ts', import.meta.url).pathname
    const options = `{ environment: process.env, signal: new AbortController().signal, timeoutMs: 60000, maxOutputBytes: 10, folder: ${JSON.stringify(scene.folder)} }`
    const script = `import { runProgram } from ${JSON.stringify(module)}; await runProgram(['sh', '-c', ${JSON.stringify(HANGING)}], ${options})`
    const owner = Bun.spawn([process.execPath, '-e', script], { env: environment })
    const pids = await scene.pids()
    owner.kill('SIGKILL')
    await owner.exited
    await scene.gone(pids)
  })
})
