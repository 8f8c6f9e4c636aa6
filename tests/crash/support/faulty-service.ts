/** A worker process whose threads are `faulty.worker.ts`; its settings come from the environment, as usual. */
import type { MessagePort } from 'node:worker_threads'
import { startThreads } from '../../../src/actors/threads.ts'
import { serveTextPort } from '../../../src/analysis/analyze/text-port.ts'
import { createTextProcesses, TEXT_PROCESS } from '../../../src/analysis/analyze/text-process.ts'
import { loadConfig } from '../../../src/app/config.ts'
import { createContainer } from '../../../src/app/container.ts'
import { EARSHOT } from '../../support/executable.ts'

const config = loadConfig(process.env)
const { databaseUrl, redisUrl } = config
if (databaseUrl === null) throw new Error('DATABASE_URL is not set')
const textWork = createTextProcesses({ command: [...EARSHOT, TEXT_PROCESS] })
const servers = { database: { url: databaseUrl }, redis: redisUrl }
const container = createContainer(config, servers, 'earshot', { textWork })
const entry = new URL('faulty.worker.ts', import.meta.url).href
// As in production, so that text processes outlive the threads.
const serve = (port: MessagePort) => serveTextPort(port, textWork)
const threads = await startThreads(
  { ...container, serve },
  { entry, pingMs: 1_000, respawnMs: 100, respawnCapMs: 1_000 },
)
await threads.ready()
process.stdout.write('ready\n')
