/** The service itself: run it, prepare its database, check it. */
import { isHeaderAddress } from '../../platform/validation/email-address.ts'
import { type Command, UsageError } from '../command.ts'

export const serviceCommands: readonly Command[] = [
  {
    name: 'serve',
    args: [],
    summary: 'Run the service until a signal ends it (the default command)',
    flags: {},
    async run({ env }) {
      const { serve } = await import('../../main.ts')
      await serve(env)
      return null
    },
  },
  {
    name: 'init',
    args: [],
    summary: 'Prepare an empty database: an organization with a user, a key, an agent and a folder',
    flags: {
      name: { value: 'text', summary: 'name of the organization (default: default)' },
      email: {
        value: 'address',
        summary: 'address of its first user (default: admin@localhost.localdomain)',
      },
    },
    async run(input) {
      const { initialize } = await import('../init.ts')
      return initialize(input)
    },
  },
  {
    name: 'demo',
    args: [],
    summary:
      'Load data of a made-up company to look at, in an organization of its own; the running service analyses it',
    flags: { remove: { summary: 'remove it, with everything that was found in it' } },
    async run(input) {
      const { loadDemo, removeDemo } = await import('../demo.ts')
      return input.has('remove') ? removeDemo(input) : loadDemo(input)
    },
  },
  {
    name: 'migrate',
    args: [],
    summary: 'Bring the database schema up to date',
    flags: {},
    async run({ env }) {
      const { migrateDatabase } = await import('../migrate.ts')
      const applied = await migrateDatabase(env)
      return {
        json: { applied },
        lines: [applied.length === 0 ? 'up to date' : `applied: ${applied.join(', ')}`],
      }
    },
  },
  {
    name: 'doctor',
    args: [],
    summary:
      'Try everything that the service depends on, and say what mends it; exit code 1 if a check fails',
    flags: { mail: { value: 'address', summary: 'also send a mail to this address' } },
    async run({ env, flag }) {
      const { examine } = await import('../doctor.ts')
      const mailTo = flag('mail') ?? null
      if (mailTo !== null && !isHeaderAddress(mailTo))
        throw new UsageError('--mail must be an e-mail address')
      const checks = await examine(env, { mailTo })
      const failed = checks.some(({ ok }) => !ok)
      const lines = checks.map(({ ok, name, detail }) => `${ok ? 'ok    ' : 'FAILED'}  ${name}: ${detail}`)
      return { json: { ok: !failed, checks }, lines, failed }
    },
  },
  {
    name: 'licenses',
    args: [],
    summary: 'Print the licence of Earshot and of everything that it brings with it',
    flags: {},
    async run() {
      const { licenses } = await import('../licenses.ts')
      return { json: { ...licenses }, lines: Object.values(licenses).map((text) => text.trimEnd()) }
    },
  },
  {
    name: 'servers stop',
    args: [],
    summary: 'Stop the embedded servers of DATA_DIR, unless the service or a command uses them',
    flags: {},
    async run({ env }) {
      const { stopServers } = await import('../stop-servers.ts')
      const outcome = await stopServers(env)
      return { json: { outcome }, lines: [OUTCOMES[outcome]] }
    },
  },
]

const OUTCOMES = {
  none: 'no embedded server is running',
  used: 'left running: the service or a command uses them',
  stopped: 'stopped',
} as const
