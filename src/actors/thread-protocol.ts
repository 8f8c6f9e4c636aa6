/** What the main thread and a worker thread say to each other. Plain data, which is cloned on the way, and a port. */
import type { MessagePort } from 'node:worker_threads'
import type { Config } from '../config.ts'
import type { Servers } from '../container.ts'

export interface StartOrder {
  readonly type: 'start'
  readonly config: Config
  readonly servers: Servers
  /** 0 for the first thread of the process, which also does the work by the clock. */
  readonly index: number
  /** Where the thread says which message it runs (`running.ts`). */
  readonly running: SharedArrayBuffer
  /** Where the thread asks the main thread for what all threads share; null where nothing is shared. */
  readonly port: MessagePort | null
}

export type ToThread =
  | StartOrder
  | { readonly type: 'ping' }
  | { readonly type: 'metrics'; readonly request: number }
  | { readonly type: 'stop'; readonly budgetMs: number }

export type FromThread =
  /** The runtime works; `worker` is its row. */
  | { readonly type: 'ready'; readonly worker: string }
  /** It has practised its first turns. */
  | { readonly type: 'warm' }
  | { readonly type: 'pong' }
  | { readonly type: 'metrics'; readonly request: number; readonly json: object }
  | { readonly type: 'stopped' }
