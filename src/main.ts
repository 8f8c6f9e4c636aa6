/**
 * The service process: settings → servers → the service itself (`service.ts`). It stops in reverse order.
 *
 * A problem that an operator can solve ends the start with one line on standard error and exit code 1. This file imports
 * little, so that the servers start at once. The rest of the service is loaded meanwhile.
 */
import { ConfigError, loadConfig } from './app/config.ts'
import type { Config } from './kernel/config.ts'
import { type StartedServers, startServers } from './platform/embedded/servers.ts'
import { limitHeap } from './platform/lifecycle/heap.ts'
import { assertPortIsFree } from './platform/lifecycle/own-port.ts'
import { createShutdown, endOnSignals, surviveErrors } from './platform/lifecycle/shutdown.ts'
import { oneLine, StartError } from './platform/lifecycle/start-error.ts'
import { createLog, type Log } from './platform/observability/log.ts'

/** PostgreSQL writes its memory to disk when it stops. That is worth a wait. */
const SERVERS_STOP_BUDGET_MS = 30_000

type Environment = Readonly<Record<string, string | undefined>>

/** Runs the service until a signal ends it. Resolves when it is up. If it cannot start, the process exits. */
export async function serve(env: Environment): Promise<void> {
  const config = readConfig(env)
  limitHeap(config.capacity.heapBytes, env)
  const log = createLog(config.logLevel, 'earshot')
  const started = Promise.withResolvers<void>()
  const shutdown = createShutdown(log, started.promise)
  const fail = (error: unknown) => {
    if (!shutdown.signal.aborted) report(error, log)
    shutdown.end(1)
  }
  let servers: StartedServers | null = null
  // A worker answers only probes, so no proxy has to notice its end.
  const drainMs = config.role === 'worker' ? 0 : config.drainMs
  endOnSignals(shutdown, log, { drainMs, abandon: () => servers?.abandon() })
  surviveErrors(shutdown, log, started.promise)
  try {
    const loading = import('./app/service.ts')
    if (config.databaseUrl === null) await assertPortIsFree(config)
    servers = await startServers(config, log)
    shutdown.add('servers', SERVERS_STOP_BUDGET_MS, servers.stop)
    servers.displaced.catch(fail)
    const { startService } = await loading
    await startService({ config, log, shutdown }, servers)
  } catch (error) {
    fail(error)
  } finally {
    started.resolve()
  }
}

function readConfig(env: Environment): Config {
  try {
    return loadConfig(env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

/** One line if the operator can help, all details if only a developer can. */
function report(error: unknown, log: Log): void {
  if (error instanceof StartError) process.stderr.write(`${oneLine(error)}\n`)
  else log.fatal({ err: error }, 'the service cannot start')
}
