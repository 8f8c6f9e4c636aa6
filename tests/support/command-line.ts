/** Command lines as the program runs them, but in this process, at a tenth of the CPU of a program that starts. */
import { runCommandLine } from '../../src/cli/run.ts'

export interface CommandResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** One at a time, because each has standard output for itself. */
let last: Promise<unknown> = Promise.resolve()

/** Runs a command line. What the program does when its last command has ended is not seen here. */
export function runCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  const result = last.then(async () => {
    const [out, err] = [takeOver(process.stdout), takeOver(process.stderr)]
    try {
      const code = await runCommandLine(args, env)
      return { code, out: out.text(), err: err.text() }
    } finally {
      out.giveBack()
      err.giveBack()
    }
  })
  last = result.catch(() => {})
  return result
}

/** Keeps what is written to the stream. */
function takeOver(stream: NodeJS.WriteStream) {
  const { write } = stream
  let written = ''
  stream.write = (chunk: string | Uint8Array) => {
    written += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    return true
  }
  return {
    text: () => written,
    giveBack() {
      stream.write = write
    },
  }
}
