/** The messages between the main thread and a worker thread: plain data, which is cloned on the way, and a port. */
import type { MessagePort } from 'node:worker_threads'
import type { Servers } from '../platform/lifecycle/servers.ts'

/** The part of the settings that threads follow. The entry of a thread knows the rest. */
export interface ThreadSettings {
  readonly workerThreads: number
}

export interface StartOrder<Settings extends ThreadSettings = ThreadSettings> {
  readonly type: 'start'
  readonly config: Settings
  readonly servers: Servers
  /** 0 for the first thread of the process, which also runs the periodic tasks. */
  readonly index: number
  /** The memory in which the thread marks which message it runs (`running.ts`). */
  readonly running: SharedArrayBuffer
  /** The port through which the thread uses what all threads share; null if nothing is shared. */
  readonly port: MessagePort | null
}

export type ToThread =
  | StartOrder
  | { readonly type: 'ping' }
  | { readonly type: 'metrics'; readonly request: number }
  | { readonly type: 'stop'; readonly budgetMs: number }

export type FromThread =
  /** The runtime has started; `worker` is the id of its row. */
  | { readonly type: 'ready'; readonly worker: string }
  | { readonly type: 'pong' }
  | { readonly type: 'metrics'; readonly request: number; readonly json: object }
  | { readonly type: 'stopped' }
