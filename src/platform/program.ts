/**
 * Runs other programs, under limits of time and output.
 *
 * The rule: a program ends with the work it is for. It leads a process group of its own, which is killed as a whole when it is
 * over, when it takes too long or says too much, when the signal is aborted, and when this process dies, however it dies: a
 * watcher in the group holds the end of a pipe that the kernel closes then.
 */

export interface ProgramOptions {
  /** All that the program finds in its environment. */
  readonly environment: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** Of standard output. */
  readonly maxOutputBytes: number
  /** Where it runs; the root folder where absent. */
  readonly folder?: string
}

export class ProgramError extends Error {
  override readonly name = 'ProgramError'

  /** `lastWords`: the end of the last line of standard error, which may say what was wrong, and what not. */
  constructor(
    readonly reason: 'exit' | 'timeout' | 'output',
    message: string,
    readonly lastWords: string,
  ) {
    super(message)
  }
}

/** Arguments: the program with its own. Its standard input is empty; the pipe is the watcher's. */
const WATCHED =
  'exec 3<&0 </dev/null; { cat >/dev/null; kill -s KILL 0; } <&3 >/dev/null 2>&1 & exec 3<&-; exec "$0" "$@"'
/** For what something that has left the group has not closed yet. */
const DRAIN_MS = 2_000
const KEPT_OF_ERRORS = 4_096
const LAST_WORDS = 200

/** @returns standard output. @throws ProgramError; the reason of the signal where it is aborted */
export async function runProgram(command: readonly string[], options: ProgramOptions): Promise<string> {
  const { signal, timeoutMs, maxOutputBytes } = options
  signal.throwIfAborted()
  const child = Bun.spawn(['/bin/sh', '-c', WATCHED, ...command], {
    cwd: options.folder ?? '/',
    env: { ...options.environment },
    detached: true,
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let ended: 'timeout' | 'output' | null = null
  let isOver = false
  const kill = () => {
    if (!isOver) killGroup(child.pid)
  }
  const end = (reason: 'timeout' | 'output') => {
    ended ??= reason
    kill()
  }
  const timer = setTimeout(end, timeoutMs, 'timeout')
  signal.addEventListener('abort', kill, { once: true })
  try {
    const output = collect(child.stdout, maxOutputBytes, () => end('output'))
    const errors = collectEnd(child.stderr, KEPT_OF_ERRORS)
    const code = await child.exited
    kill()
    isOver = true
    await Promise.race([Promise.all([output.done, errors.done]), Bun.sleep(DRAIN_MS)])
    signal.throwIfAborted()
    if (ended === 'timeout') throw failure(ended, `was killed after ${timeoutMs / 1_000} s`, errors.text())
    if (ended === 'output') throw failure(ended, `wrote more than ${maxOutputBytes} bytes`, errors.text())
    if (code !== 0) throw failure('exit', `ended with exit code ${code}`, errors.text())
    return output.text()
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', kill)
    kill()
  }
}

/** The watcher is a member until then, so the number is still that of the group. */
function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // Nobody is left in it.
  }
}

function failure(reason: ProgramError['reason'], what: string, errors: string): ProgramError {
  const words = errors.trimEnd().split('\n').at(-1)?.replaceAll(/\p{Cc}+/gu, ' ') ?? ''
  return new ProgramError(reason, `the program ${what}`, words.slice(-LAST_WORDS).toWellFormed())
}

interface Collected {
  /** Never rejects. */
  readonly done: Promise<void>
  /** What there is so far. */
  text(): string
}

function collect(stream: ReadableStream<Uint8Array>, maxBytes: number, tooMuch: () => void): Collected {
  const chunks: Uint8Array[] = []
  let bytes = 0
  const done = eachChunk(stream, (chunk) => {
    bytes += chunk.byteLength
    if (bytes > maxBytes) tooMuch()
    else chunks.push(chunk)
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
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  try {
    for await (const chunk of stream) take(chunk)
  } catch {
    // The pipe broke: what was read is what there is.
  }
}
