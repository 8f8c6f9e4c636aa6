/**
 * A worker that treats this machine as the public internet: every name resolves to 127.0.0.1 and may be fetched. The rest is the
 * shipped recording actor in a separate process. Settings come from the same variables as for the service.
 */
import { createRuntime } from '../../src/actors/runtime.ts'
import { loadConfig } from '../../src/app/config.ts'
import { createContainer } from '../../src/app/container.ts'
import { recordingActor } from '../../src/calls/processing/actor.ts'
import { createFetchPublic } from '../../src/platform/net/fetch-public.ts'
import { createOutboundPolicy } from '../../src/platform/net/outbound-url.ts'

const config = loadConfig(process.env)
const servers = { database: { url: config.databaseUrl ?? '' }, redis: config.redisUrl }
const container = createContainer(config, servers, 'bench')
const fetchPublic = createFetchPublic({
  resolve: async () => ['127.0.0.1'],
  policy: createOutboundPolicy(['127.0.0.1/32']),
})
await createRuntime(container, [recordingActor(container, { fetchPublic })]).start()

const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('ready') })
console.log(`http://127.0.0.1:${server.port}`)
process.on('SIGTERM', () => process.exit(0))
