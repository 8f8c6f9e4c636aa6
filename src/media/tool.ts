/**
 * Runs a program of FFmpeg on a file that is hostile.
 *
 * The rule: it runs without our environment, behind everything else that wants the processor, under limits of time, memory, what
 * it may say and what it may write, and dies with the turn. What it says against the file is about the file; that it could not
 * run at all is not, and may pass.
 */
import { ProgramError, runProgram } from '../platform/lifecycle/program.ts'
import { MAX_MEDIA_BYTES, MediaError } from './rules.ts'

export interface ToolOptions {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly maxOutputBytes: number
  readonly onOutput?: (chunk: Uint8Array) => void | Promise<void>
}

/** As much time as the clock gives, on this many processors at once: what a process whose watcher was killed can take at most. */
const PROCESSORS = 8
const ADDRESS_SPACE_KIB = 4 * 1024 * 1024
/** Of POSIX, in which shells count the size of files. */
const BLOCK_BYTES = 512
/** Encoded anew, media is seldom larger than it was. */
const MAX_WRITTEN_BYTES = 2 * MAX_MEDIA_BYTES

/** Where a shell knows no such limit, the time-out has to do. */
const LIMITS = [
  'ulimit -t "$1"',
  `ulimit -v ${ADDRESS_SPACE_KIB} 2>/dev/null`,
  `ulimit -f ${MAX_WRITTEN_BYTES / BLOCK_BYTES}`,
  'ulimit -c 0',
  'shift',
  'command -v nice >/dev/null && exec nice -n 10 "$@"',
  'exec "$@"',
].join('; ')

/**
 * @returns standard output, '' where `onOutput` took it
 * @throws MediaError with the ProgramError where the program has ended badly; Error where it could not run; the reason of the signal
 */
export async function runTool(
  program: string,
  args: readonly string[],
  options: ToolOptions,
): Promise<string> {
  const seconds = Math.ceil(options.timeoutMs / 1_000) * PROCESSORS
  try {
    return await runProgram(['/bin/sh', '-c', LIMITS, 'sh', `${seconds}`, program, ...args], {
      ...options,
      environment: { PATH: '/usr/bin:/bin' },
    })
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    if (wasNotItsFault(error)) throw new Error(`${program}: ${error.message} (${error.lastWords})`)
    const message = `${error.message}: ${error.lastWords}`
    throw new MediaError('processing_failed', false, message, { cause: error })
  }
}

const KILLED = 128 + 9

/** What the machine was short of, at the end of a line as the C library says it. Memory is not among it: files may ask for any. */
const SHORTAGES = [': No space left on device', ': Disk quota exceeded', ': Too many open files']

/** A build of FFmpeg that cannot do what is asked of it with any file. */
const UNFIT = /(?:^|\] )(?:Unknown encoder '|Unrecognized option ')|: Option not found$/m

/** There was no such program, somebody killed it, such as a kernel without memory, or what it needs is not on this machine. */
function wasNotItsFault({ exitCode, errorOutput }: ProgramError): boolean {
  const couldNotRun = exitCode === 126 || exitCode === 127 || exitCode === KILLED
  return couldNotRun || tellsShortage(errorOutput) || UNFIT.test(errorOutput)
}

function tellsShortage(errorOutput: string): boolean {
  return errorOutput.split('\n').some((line) => SHORTAGES.some((end) => line.trimEnd().endsWith(end)))
}
