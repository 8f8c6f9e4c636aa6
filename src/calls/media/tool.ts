/**
 * Runs an FFmpeg program on an untrusted file.
 *
 * The program runs without the environment of the service, at low priority, with limits on time, memory, output and
 * written bytes, and ends with the turn. An error it reports about the file is the file's fault. A failure to run is
 * not, and may be temporary.
 */
import { ProgramError, runProgram } from '../../platform/lifecycle/program.ts'
import { MAX_MEDIA_BYTES, MediaError } from './rules.ts'

export interface ToolOptions {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly maxOutputBytes: number
  readonly onOutput?: (chunk: Uint8Array) => void | Promise<void>
}

/**
 * Limits CPU time to the time limit on this many processors. It applies even if the supervising process was killed.
 */
const PROCESSORS = 8
const ADDRESS_SPACE_KIB = 4 * 1024 * 1024
/** POSIX shells count file sizes in blocks. */
const BLOCK_BYTES = 512
/** Encoded media is rarely larger than its source. */
const MAX_WRITTEN_BYTES = 2 * MAX_MEDIA_BYTES

/** If the shell does not support a limit, the time-out applies. */
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
 * @returns standard output; '' if `onOutput` took it
 * @throws MediaError with the ProgramError as its cause if the program failed; Error if it could not run; the reason of
 * the signal
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
    const shortage = shortageOf(error.errorOutput)
    if (shortage !== undefined) throw new Error(`${program} ${shortage}`, { cause: error })
    if (isMachineFault(error)) throw new Error(`${program}: ${error.message} (${error.lastWords})`)
    const message = `${error.message}: ${error.lastWords}`
    throw new MediaError('processing_failed', false, message, { cause: error })
  }
}

const KILLED = 128 + 9

/**
 * Shortages of the machine, as the C library words them at the end of a line. Memory is not among them, because a file
 * may demand any amount.
 */
const SHORTAGES: Readonly<Record<string, string>> = {
  ': No space left on device': 'found the disk of DATA_DIR/tmp full (ENOSPC). Free space on it.',
  ': Disk quota exceeded':
    'has used up the quota of the disk of DATA_DIR/tmp (EDQUOT). Raise it, or free space.',
  ': Too many open files': 'may open no more files (EMFILE). Raise the limit of open files.',
}

/** This build of FFmpeg cannot do what is asked with any file. */
const UNFIT = /(?:^|\] )(?:Unknown encoder '|Unrecognized option ')|: Option not found$/m

/** True if the program does not exist, was killed (for example by the kernel, out of memory), or cannot work with any file. */
function isMachineFault({ exitCode, errorOutput }: ProgramError): boolean {
  const couldNotRun = exitCode === 126 || exitCode === 127 || exitCode === KILLED
  return couldNotRun || UNFIT.test(errorOutput)
}

/** What the machine lacks, as a sentence without its subject. Undefined if it lacks nothing. */
function shortageOf(errorOutput: string): string | undefined {
  const lines = errorOutput.split('\n').map((line) => line.trimEnd())
  return Object.entries(SHORTAGES).find(([end]) => lines.some((line) => line.endsWith(end)))?.[1]
}
