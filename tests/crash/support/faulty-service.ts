/** A worker process whose threads are `faulty.worker.ts`; its settings come from the environment, as usual. */
import { startThreads } from '../../../src/actors/threads.ts'
import { loadConfig } from '../../../src/config.ts'
import { createContainer } from '../../../src/container.ts'

const config = loadConfig(process.env)
const { databaseUrl, redisUrl } = config
if (databaseUrl === null) throw new Error('DATABASE_URL is not set')
const container = createContainer(config, { database: { url: databaseUrl }, redis: redisUrl }, 'earshot')
const entry = new URL('faulty.worker.ts', import.meta.url).href
const threads = await startThreads(container, { entry, pingMs: 1_000, respawnMs: 100, respawnCapMs: 1_000 })
await threads.ready()
process.stdout.write('ready\n')
