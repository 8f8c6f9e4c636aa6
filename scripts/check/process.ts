/** Child processes of the check: steps that end by themselves, and servers that must not outlive it. */

/** `failure` is the output of a step that failed, null for one that passed. */
export interface Outcome {
  readonly name: string
  readonly failure: string | null
}

interface StepOptions {
  readonly cwd: string
  readonly signal: AbortSignal
}

/** Runs one step to its end. Its output is shown only if it fails. */
export async function runStep(
  name: string,
  command: readonly string[],
  options: StepOptions,
): Promise<Outcome> {
  const child = Bun.spawn([...command], { ...options, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { name, failure: code === 0 || options.signal.aborted ? null : `${stdout}${stderr}`.trimEnd() }
}

/** A server of this check. */
export interface Server {
  readonly exited: Promise<number>
  /** Everything that it printed so far, for the error message if it does not start. */
  output(): Promise<string>
  stop(): Promise<void>
}

/**
 * Waits for the end of its standard input, then stops the command. The pipe closes however this process ends,
 * even with `kill -9`, so no server is left behind. If the command ends early, the guard ends, too.
 */
const GUARD = `
  trap '' INT TERM HUP
  signal=$1; shift
  exec 3<&0
  "$@" </dev/null 3<&- & server=$!
  ( read -r _ <&3; kill -s "$signal" $server ) & reader=$!
  wait $server; code=$?
  kill -s KILL $reader 2>/dev/null
  exit $code`

/** Starts a server under the guard. `stopSignal` (without `SIG`) makes the server stop at once. */
export function startServer(
  command: readonly string[],
  options: { readonly cwd: string; readonly log: string; readonly stopSignal: 'INT' | 'TERM' },
): Server {
  const log = Bun.file(options.log)
  const child = Bun.spawn(['sh', '-c', GUARD, 'guard', options.stopSignal, ...command], {
    cwd: options.cwd,
    stdin: 'pipe',
    stdout: log,
    stderr: log,
  })
  return {
    exited: child.exited,
    output: () => log.text(),
    async stop() {
      child.stdin.end()
      await child.exited
    },
  }
}
