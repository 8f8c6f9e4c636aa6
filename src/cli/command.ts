/** What one command is. The table of them feeds the parser, the help and the dispatcher alike. */

export interface Flag {
  /** Placeholder of the value in the help; a flag without one is a switch. */
  readonly value?: string
  readonly summary: string
  readonly required?: boolean
  /** May be given several times. */
  readonly repeated?: boolean
}

export interface Command {
  /** One or two words. */
  readonly name: string
  /** Names of the arguments, all of them required. */
  readonly args: readonly string[]
  /** Name of what is given once or several times behind them. */
  readonly rest?: string
  readonly summary: string
  readonly flags: Readonly<Record<string, Flag>>
  /** Loads what it needs by itself: the table is read by every command. null: it has said what there was to say. */
  readonly run: (input: Input) => Promise<Output | null>
}

export interface Input {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly json: boolean
  /** An argument by its name in the table. */
  arg(name: string): string
  /** What was given behind the arguments. */
  readonly rest: readonly string[]
  flag(name: string): string | undefined
  /** Every value of a repeated flag, in their order. */
  flags(name: string): readonly string[]
  /** Whether a switch was given. */
  has(name: string): boolean
}

export interface Output {
  /** Printed as it is with `--json`. */
  readonly json: Readonly<Record<string, unknown>>
  /** Printed without. */
  readonly lines: readonly string[]
  /** The command found trouble: exit code 1. */
  readonly failed?: boolean
}

/** The caller made a mistake on the command line: exit code 2, and one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A signal ended the command, which has cleaned up and says in one line what is left: exit code 130. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** A whole number from the command line. @throws UsageError */
export function wholeNumber(what: string, text: string, min: number, max = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new UsageError(`${what} is ${JSON.stringify(text)}, but must be a whole number from ${min} to ${max}`)
}
