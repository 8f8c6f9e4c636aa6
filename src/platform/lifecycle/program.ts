/**
 * Runs other programs, under limits of time and output.
 *
 * The rule: a program ends with the work it is for. It leads a process group of its own, which is killed as a whole when it is
 * over, when it takes too long or says too much, when the signal is aborted, and when this process dies, however it dies: a
 * watcher in the group holds the end of a pipe that the kernel closes then.
 */
import { resolvesWithin } from '../concurrency/timeout.ts'

export interface ProgramOptions {
  /** All that the program finds in its environment. */
  readonly environment: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** Of standard output. */
  readonly maxOutputBytes: number
  /** Takes standard output as it comes, instead of having it collected. A rejection ends the program, and is what comes of it. */
  readonly onOutput?: (chunk: Uint8Array) => void | Promise<void>
  /** Where it runs; the root folder where absent. */
  readonly folder?: string
}

export class ProgramError extends Error {
  override readonly name = 'ProgramError'

  constructor(
    readonly reason: 'exit' | 'timeout' | 'output',
    message: string,
    /** The end of standard error. Of which a log may have `lastWords` at most. */
    readonly errorOutput: string,
    /** As shells have it: 126 and 127 where there was nothing to run, 128 and more after a signal. null: it was killed here. */
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
 * Arguments: the program with its own. Its standard input is empty; the pipe is the watcher's, which is waited for when the
 * program has ended: in a container nobody else may do that, and ended processes would add up there.
 */
const WATCHED = [
  'exec 3<&0 </dev/null',
  '{ read -r _; kill -s KILL 0; } <&3 >/dev/null 2>&1 & exec 3<&-',
  '"$0" "$@"; code=$?',
  // Some shells tell about it.
  'exec 2>/dev/null; kill -s KILL $!; wait; exit $code',
].join('\n')
/** For what something that has left the group has not closed yet. */
const DRAIN_MS = 2_000
const KEPT_OF_ERRORS = 4_096
const LAST_WORDS = 200

/**
 * @returns standard output, '' where `onOutput` took it
 * @throws ProgramError; what `onOutput` rejects with; the reason of the signal where it is aborted
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

/** Also when its leader has just ended: the system gives out all other numbers before this one again. */
function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // Nobody is left in it.
  }
}

/** `refusal`: whoever takes the output does not want more of it. */
type EndedBy = 'timeout' | 'output' | 'refusal'

interface Collected {
  /** Never rejects. */
  readonly done: Promise<void>
  /** What there is so far. */
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
    // The pipe broke: what was read is what there is.
  }
}
