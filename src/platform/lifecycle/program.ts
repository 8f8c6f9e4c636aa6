/**
 * Runs other programs with limits on time and output.
 *
 * A program never outlives its purpose. It runs in its own process group. The whole group is killed when the program ends, exceeds a
 * limit, or the signal is aborted. The group is also killed when this process dies for any reason: a watcher in the group reads from
 * a pipe that the kernel then closes.
 */
import { resolvesWithin } from '../concurrency/timeout.ts'

export interface ProgramOptions {
  /** The complete environment of the program. */
  readonly environment: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** Limit of standard output. */
  readonly maxOutputBytes: number
  /** Receives standard output in chunks, which are then not collected. If it rejects, the program is killed and the error passed on. */
  readonly onOutput?: (chunk: Uint8Array) => void | Promise<void>
  /** The working directory. Default: the root folder. */
  readonly folder?: string
}

/** The program failed (`exit`), took longer than `timeoutMs` (`timeout`) or wrote more than `maxOutputBytes` (`output`). */
export class ProgramError extends Error {
  override readonly name = 'ProgramError'

  constructor(
    readonly reason: 'exit' | 'timeout' | 'output',
    message: string,
    /** The end of standard error. A log must contain at most `lastWords` of it. */
    readonly errorOutput: string,
    /** As in a shell: 126 and 127 if there was nothing to run, from 128 after a signal. null if this process killed it. */
    readonly exitCode: number | null = null,
  ) {
    super(message)
  }

  /** The end of the last line, on one line. */
  get lastWords(): string {
    const line = this.errorOutput.trimEnd().split('\n').at(-1) ?? ''
    return line
      .replaceAll(/\p{Cc}+/gu, ' ')
      .slice(-LAST_WORDS)
      .toWellFormed()
  }
}

/**
 * Arguments: the program and its arguments. Its standard input is empty, because the pipe belongs to the watcher. The shell waits for
 * the watcher at the end, because a container may have no other process that does so, and zombies would accumulate.
 */
const WATCHED = [
  'exec 3<&0 </dev/null',
  '{ read -r _; kill -s KILL 0; } <&3 >/dev/null 2>&1 & exec 3<&-',
  '"$0" "$@"; code=$?',
  // Some shells print a message about the killed watcher.
  'exec 2>/dev/null; kill -s KILL $!; wait; exit $code',
].join('\n')
/** Time for output that a process outside of the group still holds open. */
const DRAIN_MS = 2_000
const KEPT_OF_ERRORS = 4_096
const LAST_WORDS = 200

/**
 * @returns standard output, or '' with `onOutput`
 * @throws ProgramError; the error of `onOutput`; the reason of an aborted signal
 */
export async function runProgram(command: readonly string[], options: ProgramOptions): Promise<string> {
  const { signal, timeoutMs } = options
  signal.throwIfAborted()
  const child = Bun.spawn(['/bin/sh', '-c', WATCHED, ...command], {
    cwd: options.folder ?? '/',
    env: { ...options.environment },
    detached: true,
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const ending: { by: EndedBy | null; error: unknown } = { by: null, error: null }
  let isOver = false
  const kill = () => {
    if (!isOver) killGroup(child.pid)
  }
  const end = (by: EndedBy, error: unknown = null) => {
    if (ending.by === null) Object.assign(ending, { by, error })
    kill()
  }
  const timer = setTimeout(end, timeoutMs, 'timeout')
  signal.addEventListener('abort', kill, { once: true })
  try {
    const output = collect(child.stdout, options, end)
    const errors = collectEnd(child.stderr, KEPT_OF_ERRORS)
    const code = await child.exited
    kill()
    isOver = true
    await resolvesWithin(Promise.all([output.done, errors.done]), DRAIN_MS)
    signal.throwIfAborted()
    if (ending.by === 'refusal') throw ending.error
    if (ending.by !== null) throw new ProgramError(ending.by, endings(options)[ending.by], errors.text())
    if (code !== 0)
      throw new ProgramError('exit', `the program ended with exit code ${code}`, errors.text(), code)
    return output.text()
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', kill)
    kill()
  }
}

const endings = ({ timeoutMs, maxOutputBytes }: ProgramOptions) => ({
  timeout: `the program was killed after ${timeoutMs / 1_000} s`,
  output: `the program wrote more than ${maxOutputBytes} bytes`,
})

/** Safe just after the leader has ended, because the system reuses a process number last. */
function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // The group is empty.
  }
}

/** `refusal`: `onOutput` rejected. */
type EndedBy = 'timeout' | 'output' | 'refusal'

interface Collected {
  /** Never rejects. */
  readonly done: Promise<void>
  /** The text so far. */
  text(): string
}

function collect(
  stream: ReadableStream<Uint8Array>,
  { maxOutputBytes, onOutput }: Pick<ProgramOptions, 'maxOutputBytes' | 'onOutput'>,
  end: (reason: EndedBy, error?: unknown) => void,
): Collected {
  const chunks: Uint8Array[] = []
  const take = onOutput ?? ((chunk: Uint8Array) => void chunks.push(chunk))
  let bytes = 0
  let isOver = false
  const done = eachChunk(stream, async (chunk) => {
    bytes += chunk.byteLength
    if (isOver) return
    try {
      isOver = bytes > maxOutputBytes
      if (isOver) end('output')
      else await take(chunk)
    } catch (error) {
      isOver = true
      end('refusal', error)
    }
  })
  return { done, text: () => Buffer.concat(chunks).toString() }
}

function collectEnd(stream: ReadableStream<Uint8Array>, maxBytes: number): Collected {
  let kept = Buffer.alloc(0)
  const done = eachChunk(stream, (chunk) => {
    kept = Buffer.from(Buffer.concat([kept, chunk]).subarray(-maxBytes))
  })
  return { done, text: () => kept.toString() }
}

async function eachChunk(
  stream: ReadableStream<Uint8Array>,
  take: (chunk: Uint8Array) => void | Promise<void>,
): Promise<void> {
  try {
    for await (const chunk of stream) await take(chunk)
  } catch {
    // The pipe broke. The chunks read so far are kept.
  }
}
