/** The declaration of a command. Parser, help and dispatcher all read it. */

export interface Flag {
  /** Placeholder of the value in the help. A flag without one is a switch. */
  readonly value?: string
  readonly summary: string
  readonly required?: boolean
  /** True if the flag may be given several times. */
  readonly repeated?: boolean
}

export interface Command {
  /** One or two words. */
  readonly name: string
  /** Names of the arguments. All are required. */
  readonly args: readonly string[]
  /** Name of the last argument, which can be repeated. */
  readonly rest?: string
  /** True if that argument may also be absent. */
  readonly isRestOptional?: true
  readonly summary: string
  readonly flags: Readonly<Record<string, Flag>>
  /** Loads its modules when it runs, because every command reads the table. Null: nothing is left to print. */
  readonly run: (input: Input) => Promise<Output | null>
}

export interface Input {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly json: boolean
  /** An argument, by its name in the table. */
  arg(name: string): string
  /** Values of the repeated last argument. */
  readonly rest: readonly string[]
  flag(name: string): string | undefined
  /** All values of a repeated flag, in order. */
  flags(name: string): readonly string[]
  /** True if the switch was given. */
  has(name: string): boolean
}

export interface Output {
  /** Printed with `--json`, as it is. */
  readonly json: Readonly<Record<string, unknown>>
  /** Printed without `--json`. */
  readonly lines: readonly string[]
  /** True if the command found a problem: exit code 1. */
  readonly failed?: boolean
}

/** The command line is wrong. Prints one line; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A signal ended the command after its clean-up. The message says how to continue; exit code 130. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** A whole number from the command line. @throws UsageError */
export function wholeNumber(what: string, text: string, min: number, max = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new UsageError(`${what} is ${JSON.stringify(text)}, but must be a whole number from ${min} to ${max}`)
}
