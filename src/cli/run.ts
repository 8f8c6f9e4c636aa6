/**
 * Runs a command line. Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted.
 *
 * An error is one line on standard error, and with `--json` also one object on standard output. `node:util` parses the
 * options, because it keeps values as they were typed: an organization may be named `007`.
 */
import { parseArgs } from 'node:util'
import { version } from '../../package.json'
import { ConfigError } from '../app/config.ts'
import { asUnavailable, errorCode } from '../platform/db/sqlstate.ts'
import { AppError } from '../platform/errors.ts'
import { oneLine, StartError } from '../platform/lifecycle/start-error.ts'
import { asStorageUnavailable } from '../platform/storage/unavailable.ts'
import { type Command, type Flag, type Input, Interrupted, type Output, UsageError } from './command.ts'
import { COMMANDS } from './commands.ts'
import { GLOBAL_FLAGS, help, usage } from './help.ts'
import { didYouMean } from './suggest.ts'

type Environment = Input['env']

/** Runs one command line. @returns the exit code */
export async function runCommandLine(argv: readonly string[], env: Environment): Promise<number> {
  const json = argv.includes('--json')
  try {
    const output = await dispatch(argv, env)
    if (output === null) return 0
    print(json ? `${JSON.stringify(output.json)}\n` : output.lines.map((l) => `${l}\n`).join(''))
    return output.failed ? 1 : 0
  } catch (error) {
    const { code, message } = explain(error)
    if (json) process.stdout.write(`${JSON.stringify({ error: { code, message } })}\n`)
    process.stderr.write(`earshot: ${message}\n`)
    if (error instanceof Interrupted) return 130
    return error instanceof UsageError ? 2 : 1
  }
}

/** A reader that has seen enough, such as `head`, closes the pipe. That is no failure. */
function print(text: string): void {
  process.stdout.once('error', (error) => {
    if (errorCode(error) !== 'EPIPE') throw error
  })
  process.stdout.write(text)
}

async function dispatch(argv: readonly string[], env: Environment): Promise<Output | null> {
  // The first pass knows the flags of all commands, to tell the words of the command from values of flags.
  const allFlags = Object.assign({}, GLOBAL_FLAGS, ...COMMANDS.map((command) => command.flags))
  const { positionals, values } = parseArgs({ args: [...argv], options: options(allFlags), strict: false })
  if (values.version) return printed(version, { version })
  const command = findCommand(positionals)
  if (values.help) {
    const words = command === null || positionals.length === 0 ? positionals : command.name.split(' ')
    const text = help(COMMANDS, words, version)
    return printed(text, { help: text })
  }
  if (command === null) throw unknownCommand(positionals)
  return command.run(readInput(command, argv, env))
}

const printed = (text: string, json: Output['json']): Output => ({ json, lines: [text] })

/** Without words, the command is `serve`. */
function findCommand(words: readonly string[]): Command | null {
  if (words.length === 0) return COMMANDS.find(({ name }) => name === 'serve') ?? null
  return (
    COMMANDS.find(({ name }) => name === words.slice(0, 2).join(' ')) ??
    COMMANDS.find(({ name }) => name === words[0]) ??
    null
  )
}

function unknownCommand(words: readonly string[]): UsageError {
  const names = COMMANDS.map(({ name }) => name)
  const group = names.filter((name) => name.startsWith(`${words[0]} `))
  const typed = words.slice(0, 2).join(' ')
  if (group.length > 0)
    return new UsageError(
      words.length === 1
        ? `incomplete command: use one of ${group.join(', ')}`
        : `there is no command ${JSON.stringify(typed)}${didYouMean(typed, group)} There are: ${group.join(', ')}`,
    )
  const [first = ''] = words
  const near = didYouMean(typed, names) || didYouMean(first, firstWords(names))
  return new UsageError(`there is no command ${JSON.stringify(first)}${near || ': see earshot --help'}`)
}

const firstWords = (names: readonly string[]) => [...new Set(names.map((name) => name.split(' ')[0] ?? ''))]

function readInput(command: Command, argv: readonly string[], env: Environment): Input {
  const flags = { ...GLOBAL_FLAGS, ...command.flags }
  const { positionals, values } = parseStrictly(argv, flags)
  const given = positionals.slice(positionals.length === 0 ? 0 : command.name.split(' ').length)
  const rest = given.slice(command.args.length)
  const isRestMissing = rest.length === 0 && command.rest !== undefined && command.isRestOptional !== true
  const isTooMuch = rest.length > 0 && command.rest === undefined
  if (given.length < command.args.length || isRestMissing || isTooMuch)
    throw new UsageError(`usage: earshot ${usage(command)}`)
  for (const [name, flag] of Object.entries(command.flags))
    if (flag.required && values[name] === undefined) throw new UsageError(`--${name} is missing`)
  return {
    env,
    json: values.json === true,
    rest,
    arg(name) {
      const value = given[command.args.indexOf(name)]
      if (value === undefined) throw new Error(`${command.name} has no argument ${name}`)
      return value
    },
    flag(name) {
      const value = values[name]
      return typeof value === 'string' ? value : undefined
    },
    flags(name) {
      const value = values[name]
      return Array.isArray(value) ? value.map(String) : []
    },
    has: (name) => values[name] === true,
  }
}

function parseStrictly(argv: readonly string[], flags: Readonly<Record<string, Flag>>) {
  try {
    return parseArgs({ args: [...argv], options: options(flags), allowPositionals: true })
  } catch (error) {
    // The second sentence of the message is about arguments that begin with a dash.
    const message = oneLine(error).replace(/\. .*/, '')
    const [, unknown] = /^Unknown option '--([^']+)'/.exec(message) ?? []
    throw new UsageError(
      unknown === undefined ? message : `${message}${didYouMean(unknown, Object.keys(flags))}`,
    )
  }
}

function options(flags: Readonly<Record<string, Flag>>) {
  return Object.fromEntries(
    Object.entries(flags).map(([name, { value, repeated = false }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), multiple: repeated },
    ]),
  )
}

/** A code for programs and a sentence for people. */
function explain(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof UsageError) return { code: 'usage', message: error.message }
  if (error instanceof Interrupted) return { code: 'interrupted', message: error.message }
  if (error instanceof AppError) return { code: error.code, message: error.message }
  if (error instanceof ConfigError) return { code: 'configuration', message: error.message }
  if (error instanceof StartError) return { code: 'start', message: oneLine(error) }
  const code = errorCode(error)
  const part = (asStorageUnavailable(error) ?? asUnavailable(error))?.message.split('. ')[0]
  if (part !== undefined) return { code: code ?? 'unavailable', message: `${part}: ${reasonOf(error)}` }
  return { code: code ?? 'failed', message: reasonOf(error) }
}

/** The text of an error that no code has caught, with its code. */
function reasonOf(error: unknown): string {
  const code = errorCode(error)
  return code === null ? oneLine(error) : `${oneLine(error)} (${code})`
}
