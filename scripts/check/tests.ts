/**
 * Runs the test files and counts from the runner's report. A selected file that is not in the report (it did not
 * load, or holds no test) is a failure: a test that does not run must not look like one that passes.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Duration, durationsOf, expectedTimings, longestFirst } from './durations.ts'
import { type Report, readReport } from './report.ts'

export interface TestCounts {
  readonly passed: number
  readonly skipped: number
  /** `file › title` of every failed test. */
  readonly failed: readonly string[]
  /** What failed besides single tests. */
  readonly broken: readonly { readonly name: string; readonly failure: string }[]
  /** What each test file took, the longest first. */
  readonly durations: readonly Duration[]
}

/** Longer than what `eventually` waits, so that its error is shown. */
const TEST_TIMEOUT_MS = 300_000
/** Test files at a time: one more than there are cores, since each waits for a server, a process or a clock now and then. */
const TOGETHER = availableParallelism() + 1
/** These measure how long something takes, or what a neighbour notices. They run one after another when the others have ended, which would disturb them. */
const MEASURING = /^tests\/(?:budget|neighbours)\//

/** Test files whose path contains one of the filters; all without filters. Relative to `root`, sorted. */
export function selectTests(root: string, filters: readonly string[]): readonly string[] {
  const all = [...new Bun.Glob('tests/**/*.test.ts').scanSync({ cwd: root })].sort()
  if (filters.length === 0) return all
  return all.filter((file) => filters.some((filter) => file.includes(filter.replace(/^\.\//, ''))))
}

export interface TestRun {
  readonly environment: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** Default: `inherit`, without the output of tests that pass. */
  readonly output?: 'inherit' | 'ignore'
}

/** Runs the files in parallel processes, and those that measure at the end. */
export async function runTests(root: string, files: readonly string[], run: TestRun): Promise<TestCounts> {
  if (files.length === 0) return nothingRan('no test file matches')
  const measuring = files.filter((file) => MEASURING.test(file))
  const others = files.filter((file) => !MEASURING.test(file))
  const first = others.length === 0 ? null : await runTogether(root, others, TOGETHER, run)
  const isOver = measuring.length === 0 || run.signal.aborted
  const second = isOver ? null : await runTogether(root, measuring, 1, run)
  return sumOf([first, second].filter((counts) => counts !== null))
}

async function runTogether(
  root: string,
  files: readonly string[],
  together: number,
  { environment, signal, output = 'inherit' }: TestRun,
): Promise<TestCounts> {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-report-'))
  const [report, timings] = [join(folder, 'report.xml'), join(folder, 'timings.json')]
  try {
    writeFileSync(timings, JSON.stringify(expectedTimings(root, files)))
    const child = Bun.spawn(
      [
        process.execPath,
        'test',
        ...runnerOptions(together, report, timings),
        ...files.map((file) => `./${file}`),
      ],
      {
        cwd: root,
        env: { ...process.env, ...environment, NODE_ENV: 'test' },
        stdin: 'ignore',
        stdout: output,
        stderr: output,
        signal,
      },
    )
    const code = await child.exited
    const text = await Bun.file(report)
      .text()
      .catch(() => '')
    return judge(files, readReport(text), readFileSync(timings, 'utf8'), code)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Files that one process runs share its modules (`--no-isolate`): loading and compiling the service anew for each file took a quarter
 * of the time. A file must therefore leave nothing behind.
 */
function runnerOptions(together: number, report: string, timings: string): readonly string[] {
  return [
    `--parallel=${together}`,
    `--timings=${timings}`,
    '--update-timings',
    '--no-orphans',
    '--no-isolate',
    '--only-failures',
    `--timeout=${TEST_TIMEOUT_MS}`,
    '--reporter=junit',
    `--reporter-outfile=${report}`,
  ]
}

function judge(files: readonly string[], report: Report | null, timings: string, code: number): TestCounts {
  if (report === null) return nothingRan('the test runner wrote no report')
  const broken = files
    .filter((file) => !report.files.has(file))
    .map((file) => ({ name: file, failure: 'did not load, or holds no test' }))
  if (code !== 0 && broken.length === 0 && report.failed.length === 0)
    broken.push({ name: 'test runner', failure: `ended with code ${code}` })
  if (report.tests === 0) broken.push({ name: 'tests', failure: 'not a single test ran' })
  return {
    passed: report.tests - report.failed.length - report.skipped,
    skipped: report.skipped,
    failed: report.failed,
    broken,
    durations: durationsOf(timings, report.files),
  }
}

function sumOf(runs: readonly TestCounts[]): TestCounts {
  return {
    passed: runs.reduce((sum, { passed }) => sum + passed, 0),
    skipped: runs.reduce((sum, { skipped }) => sum + skipped, 0),
    failed: runs.flatMap(({ failed }) => failed),
    broken: runs.flatMap(({ broken }) => broken),
    durations: runs.flatMap(({ durations }) => durations).sort(longestFirst),
  }
}

function nothingRan(failure: string): TestCounts {
  return { passed: 0, skipped: 0, failed: [], broken: [{ name: 'tests', failure }], durations: [] }
}
