/** Redis as it stops wake-ups and the counters of rate limits. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../crash/support/private-postgres.ts'
import { type PrivateRedis, startPrivateRedis } from '../../support/private-redis.ts'
import type { SetUp } from './set-up.ts'

/** The keys and commands of docs/self-hosting.md for a database of this name, without the password. */
export function documentedRights(database: string): readonly string[] {
  const page = readFileSync(join(import.meta.dir, '../../../docs/self-hosting.md'), 'utf8')
  const [, rights = ''] = /^redis-cli ACL SETUSER app on '>PASSWORD' (.*)$/m.exec(page) ?? []
  return rights
    .split(' ')
    .map((right) => right.replaceAll("'", '').replace('~earshot:actors', `~${database}:actors`))
}

/** `database`: the name of the database that the variables name. */
export const brokenRedis = (database: () => string): readonly SetUp[] => [
  {
    name: 'Nothing listens at the host and port of `REDIS_URL`',
    check: 'redis',
    begin: async () => ({ REDIS_URL: 'redis://127.0.0.1:1' }),
  },
  ofServer('The password of `REDIS_URL` is wrong', async () => 'ada:wrong@'),
  ofServer('Redis requires a password, and `REDIS_URL` has none', async (redis) => {
    await redis.command('CONFIG', 'SET', 'requirepass', 'right')
    return ''
  }),
  ...['XADD', 'XREADGROUP', 'EVAL'].map((command) =>
    withRights(`The user of Redis may not run \`${command}\``, () => [
      ...documentedRights(database()),
      `-${command.toLowerCase()}`,
    ]),
  ),
  withRights('The user of Redis may not use the keys', () => ['~elsewhere:*', '+@all']),
  ofServer('Redis has reached `maxmemory`', async (redis) => {
    await redis.command('CONFIG', 'SET', 'maxmemory', '1')
    return ''
  }),
  ofServer('Redis is a replica', async (redis) => {
    await redis.command('REPLICAOF', '127.0.0.1', '1')
    return ''
  }),
]

/** `prepare` breaks the server and returns the credentials of the URL. */
function ofServer(name: string, prepare: (redis: PrivateRedis) => Promise<string>): SetUp {
  return {
    name,
    check: 'redis',
    async begin(undo) {
      const port = freePort()
      const redis = await startPrivateRedis(port)
      undo(() => redis.stop())
      return { REDIS_URL: `redis://${await prepare(redis)}127.0.0.1:${port}` }
    },
  }
}

function withRights(name: string, rights: () => readonly string[]): SetUp {
  return ofServer(name, async (redis) => {
    await redis.command('ACL', 'SETUSER', 'ada', 'reset', 'on', '>right', ...rights())
    return 'ada:right@'
  })
}
