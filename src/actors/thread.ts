/**
 * The code inside a worker thread. When the main thread tells it to start, it builds its own container and runtime. It answers pings and
 * requests for metrics, and stops in order.
 *
 * An unhandled error ends only this thread; the main thread starts another.
 */
import { resolvesWithin } from '../platform/concurrency/timeout.ts'
import { keepMaintaining } from './maintenance.ts'
import type { RuntimeOptions } from './options.ts'
import { createRunningMark } from './running.ts'
import { createRuntime, type Runtime, type RuntimeDeps } from './runtime.ts'
import type { FromThread, StartOrder, ThreadSettings, ToThread } from './thread-protocol.ts'
import type { ActorDefinition, MaintenanceTask } from './types.ts'

/** How long a stop waits for a maintenance task. A task that was told to stop ends sooner, unless its I/O hangs. */
const MAINTENANCE_MS = 5_000

/** The part of a message port that this file uses. */
export interface ThreadPort {
  on(event: 'message', listener: (message: ToThread) => void): unknown
  postMessage(message: FromThread): void
}

/** Everything that runs in the thread. */
export interface ThreadContents {
  readonly container: Omit<RuntimeDeps, 'running'> & { close(): Promise<void> }
  readonly actors: readonly ActorDefinition[]
  readonly maintenance: readonly MaintenanceTask[]
  readonly options?: Partial<RuntimeOptions>
  /** Prepares the thread for its first turns, in the background. */
  readonly warmUp?: () => Promise<void>
}

/** Serves the main thread on `port` until its order to stop. */
export function serveThread<Settings extends ThreadSettings>(
  port: ThreadPort,
  build: (order: StartOrder<Settings>) => ThreadContents,
): void {
  let running: Promise<Running> | null = null
  port.on('message', async (message) => {
    switch (message.type) {
      case 'start':
        // The main thread sends the settings of the process, which are those of the entry.
        running = start(build(message as StartOrder<Settings>), message)
        port.postMessage({ type: 'ready', worker: (await running).runtime.worker })
        await warmUp((await running).contents)
        break
      case 'ping':
        port.postMessage({ type: 'pong' })
        break
      case 'metrics': {
        const json = await (await running)?.contents.container.metrics.registry.getMetricsAsJSON()
        port.postMessage({ type: 'metrics', request: message.request, json: json ?? [] })
        break
      }
      case 'stop':
        if (running !== null) await stop(await running, message.budgetMs)
        port.postMessage({ type: 'stopped' })
    }
  })
}

interface Running {
  readonly contents: ThreadContents
  readonly runtime: Runtime
  readonly stopping: AbortController
  readonly maintenance: Promise<void>
}

async function start(contents: ThreadContents, { index, running: memory }: StartOrder): Promise<Running> {
  const { container, actors, options = {} } = contents
  const running = createRunningMark(memory)
  process.on('uncaughtExceptionMonitor', () => running.markFailed())
  const runtime = createRuntime({ ...container, running }, actors, options)
  await runtime.start()
  const stopping = new AbortController()
  const tasks = index === 0 ? contents.maintenance : []
  return { contents, runtime, stopping, maintenance: keepMaintaining(container, tasks, stopping.signal) }
}

/** The runtime takes turns meanwhile. If the warm-up fails, the first turns do the same work when they need it. */
async function warmUp({ container, warmUp: work }: ThreadContents): Promise<void> {
  await work?.().catch((error: unknown) =>
    container.log.debug({ err: error }, 'warm-up failed; the first requests will be slower'),
  )
}

async function stop({ contents, runtime, stopping, maintenance }: Running, budgetMs: number): Promise<void> {
  stopping.abort()
  const maintained = resolvesWithin(maintenance, Math.min(budgetMs, MAINTENANCE_MS))
  await Promise.all([runtime.stop(budgetMs), maintained])
  await contents.container.close()
}
