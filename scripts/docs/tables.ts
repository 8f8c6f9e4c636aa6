/** Tables of the documentation that are made from the code. */

import type { Setting } from '../../src/app/settings/kinds.ts'
import { SETTING_GROUPS } from '../../src/app/settings/table.ts'
import { COMMANDS } from '../../src/cli/commands.ts'

/** One table for each group of settings, under its heading. */
export function settingTables(): string {
  return Object.entries(SETTING_GROUPS)
    .map(([group, settings]: [string, Readonly<Record<string, Setting>>]) =>
      [
        `## ${group}`,
        '',
        '| Variable | Type | Default | Meaning |',
        '|---|---|---|---|',
        ...Object.entries(settings).map(
          ([name, setting]) =>
            `| \`${name}\` | ${typeOf(setting)} | ${defaultOf(setting)} | ${setting.text} |`,
        ),
      ].join('\n'),
    )
    .join('\n\n')
}

function typeOf(setting: Setting): string {
  switch (setting.kind) {
    case 'integer':
      return `${inThousands(setting.min)} to ${inThousands(setting.max)}`
    case 'choice':
      return setting.allowed.map((word) => `\`${word}\``).join(', ')
    case 'url':
      return setting.protocols.map((protocol) => `\`${protocol}//\``).join(' or ')
    default:
      return setting.type
  }
}

function defaultOf(setting: Setting): string {
  if (setting.shown !== undefined) return setting.shown
  return 'default' in setting ? `\`${setting.default}\`` : 'none'
}

const inThousands = (value: number) => value.toLocaleString('en-US')

/** Every command with its arguments and what it does, in the order of the help. */
export function commandTable(): string {
  return [
    '| Command | What it does |',
    '|---|---|',
    ...COMMANDS.map((command) => {
      const args = command.args.map((name) => ` <${name}>`).join('')
      const argument = command.isRestOptional === true ? ` [${command.rest}]` : ` <${command.rest}>…`
      const rest = command.rest === undefined ? '' : argument
      return `| \`earshot ${command.name}${args}${rest}\` | ${command.summary} |`
    }),
  ].join('\n')
}
