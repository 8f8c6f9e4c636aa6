/** The text of `--help`, from the table of commands. */
import type { Command, Flag } from './command.ts'
import { align } from './output.ts'

export const GLOBAL_FLAGS: Readonly<Record<string, Flag>> = {
  json: { summary: 'print exactly one JSON object' },
  help: { summary: 'show this text' },
  version: { summary: 'show the version' },
}

/** `org create <name>` */
export function usage(command: Command): string {
  const argument = command.isRestOptional === true ? `[${command.rest}]` : `<${command.rest}>…`
  const rest = command.rest === undefined ? [] : [argument]
  return [command.name, ...command.args.map((name) => `<${name}>`), ...rest].join(' ')
}

/** Help for every command that starts with `words`, or for the one command with this name. */
export function help(commands: readonly Command[], words: readonly string[], version: string): string {
  const prefix = words.join(' ')
  const exact = commands.find((command) => command.name === prefix)
  if (exact !== undefined) return commandHelp(exact)
  const group = commands.filter((command) => prefix === '' || command.name.startsWith(`${prefix} `))
  const listed = group.length > 0 ? group : commands
  return [
    `earshot ${version}`,
    '',
    'Usage: earshot <command> [options]; without a command: serve',
    '',
    ...indent(listed.map((command) => [usage(command), command.summary])),
    '',
    ...indent(flagRows(GLOBAL_FLAGS)),
    '',
    'Run earshot <command> --help for details. Settings are environment variables, as for the service.',
  ].join('\n')
}

function commandHelp(command: Command): string {
  return [
    `Usage: earshot ${usage(command)} [options]`,
    '',
    `${command.summary}.`,
    '',
    ...indent(flagRows({ ...command.flags, ...GLOBAL_FLAGS })),
  ].join('\n')
}

function flagRows(flags: Readonly<Record<string, Flag>>): readonly (readonly string[])[] {
  return Object.entries(flags).map(([name, { value, summary, required }]) => [
    `--${name}${value === undefined ? '' : ` <${value}>`}`,
    required ? `${summary} (required)` : summary,
  ])
}

const indent = (rows: readonly (readonly string[])[]) => align(rows).map((line) => `  ${line}`)
