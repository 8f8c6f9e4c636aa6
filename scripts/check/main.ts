/**
 * The course of a check: what may run side by side does, and every step is counted. A step that is not a test (type
 * check, lint, unused code) counts as one failed check when it fails and as nothing when it passes.
 */
import { type Duration, recordDurations } from './durations.ts'
import { buildExecutable, needsExecutable } from './executable.ts'
import { providePrograms, ToolMissing } from './machine.ts'
import { type Outcome, runStep } from './process.ts'
import { startServers } from './servers.ts'
import { runTests, selectTests, type TestCounts } from './tests.ts'

const STATIC_STEPS = {
  // One thread takes a fifth less CPU, and the tests run beside it anyway.
  'type check': ['node_modules/.bin/tsc', '-p', '.', '--singleThreaded'],
  'type check of the console': ['scripts/check-console.ts'],
  lint: [
    'node_modules/.bin/biome',
    'ci',
    '--error-on-warnings',
    '--diagnostic-level=warn',
    '--max-diagnostics=50',
    '--colors=off',
    '.',
  ],
  'unused code': ['node_modules/.bin/knip-bun', '--no-progress'],
} as const

/** How many of the slowest files are printed. */
const SLOWEST = 10

export interface CheckOptions {
  /** Tests with generated input and with faults try more. */
  readonly thorough: boolean
}

/** Runs everything. @returns the exit code of the process */
export async function check(
  root: string,
  filters: readonly string[],
  options: CheckOptions,
): Promise<number> {
  const interrupted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => interrupted.abort(new Error(`stopped by ${signal}`)))
  const started = performance.now()
  const [steps, tests] = await Promise.all([
    runStaticSteps(root, interrupted.signal),
    runAllTests(root, filters, options, interrupted.signal),
  ])
  const broken = [...steps.filter((step) => step.failure !== null), ...tests.broken]
  for (const { name, failure } of broken) console.log(`\n✗ ${name}\n${failure}`)
  for (const title of tests.failed) console.log(`✗ ${title}`)
  if (interrupted.signal.aborted) console.log(`\n✗ ${(interrupted.signal.reason as Error).message}`)
  const failed = tests.failed.length + broken.length + (interrupted.signal.aborted ? 1 : 0)
  if (tests.durations.length > 1)
    console.log(`\nThe slowest test files:\n${tests.durations.slice(0, SLOWEST).map(lineOf).join('\n')}`)
  if (failed === 0 && filters.length === 0 && !options.thorough) recordDurations(root, tests.durations)
  console.log(`\nTook ${Math.round((performance.now() - started) / 1000)} s.`)
  console.log(summary(tests.passed, failed, tests.skipped))
  return failed === 0 ? 0 : 1
}

/** ` 12.3 s  tests/http/files.test.ts` */
const lineOf = ({ file, seconds }: Duration) => `${seconds.toFixed(1).padStart(7)} s  ${file}`

/** The last line that is printed. */
function summary(passed: number, failed: number, skipped: number): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

function runStaticSteps(root: string, signal: AbortSignal): Promise<readonly Outcome[]> {
  return Promise.all(
    Object.entries(STATIC_STEPS).map(([name, command]) =>
      runStep(name, [process.execPath, ...command], { cwd: root, signal }),
    ),
  )
}

async function runAllTests(
  root: string,
  filters: readonly string[],
  { thorough }: CheckOptions,
  signal: AbortSignal,
): Promise<TestCounts> {
  try {
    const files = selectTests(root, filters)
    const { redis, chromium } = providePrograms(root, files)
    await using servers = await startServers(redis, signal)
    await using executable = needsExecutable(files) ? await buildExecutable(root, signal) : null
    const environment = {
      ...servers.environment,
      TEST_CHROMIUM: chromium ?? '',
      TEST_EXECUTABLE: executable?.path ?? '',
      EARSHOT_THOROUGH: String(thorough),
    }
    return await runTests(root, files, { environment, signal })
  } catch (error) {
    if (signal.aborted) return { passed: 0, skipped: 0, failed: [], broken: [], durations: [] }
    const failure = error instanceof ToolMissing ? error.message : Bun.inspect(error)
    return { passed: 0, skipped: 0, failed: [], broken: [{ name: 'tests', failure }], durations: [] }
  }
}
