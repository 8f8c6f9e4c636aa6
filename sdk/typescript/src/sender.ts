/**
 * Sends what waits, in the background: one request at a time for each session, several sessions at once. A request is repeated with
 * the same body until the service has answered it, so nothing is stored twice.
 */
import { type Batch, type Lane, Queue, type Waiting } from './queue.ts'
import { isRetryable, mayBeSplit, waitMs } from './retry.rules.ts'
import type { Spool } from './spool.ts'

/** The part of the global `fetch` that is used. */
export type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>

/** Longest wait between attempts while the application waits for the queue. */
const MOST_AWAITED_MS = 1_000

/** Why events were not sent. */
export class EarshotError extends Error {
  override readonly name = 'EarshotError'

  constructor(
    message: string,
    /** `queue_full`, `network`, `invalid_message`, or the stable code of the service. */
    readonly code: string,
    /** Of the answer. Null: there was none. */
    readonly status: number | null = null,
  ) {
    super(message)
  }
}

/** Counts since the client was created. */
export interface Stats {
  /** Events that wait or are being sent. */
  readonly queued: number
  /** Events that the service has confirmed. */
  readonly sent: number
  /** Events that were given up because the queue holds no more. */
  readonly dropped: number
  /** Events that the service refused, or that could not be made. */
  readonly failed: number
  /** Attempts that were repeated. */
  readonly retried: number
}

/** The options of the client, with their defaults filled in. */
export interface SenderOptions {
  readonly url: string
  readonly secret: string
  readonly fetch: Fetch
  readonly timeoutMs: number
  /** Sessions that send at the same time. */
  readonly concurrency: number
  /** Milliseconds in which more events join a request. */
  readonly delayMs: number
  readonly maxEvents: number
  readonly maxBytes: number
  readonly spool: Spool | null
  onError(error: EarshotError): void
}

/** Empties the queue. `wake` starts it, `idle` waits for it. */
export class Sender {
  readonly queue: Queue
  #running = 0
  #timer: ReturnType<typeof setTimeout> | null = null
  readonly #paused = new Map<Lane, Pause>()
  #idle: { promise: Promise<void>; resolve: () => void } | null = null
  #sent = 0
  #dropped = 0
  #failed = 0
  #retried = 0

  constructor(private readonly options: SenderOptions) {
    this.queue = new Queue(options, (events) => {
      this.#dropped += events.length
      this.#giveUp(events, new EarshotError('the queue is full', 'queue_full'))
    })
  }

  /** `queued` is the state of now; the other counts only grow. */
  stats(): Stats {
    return {
      queued: this.queue.events,
      sent: this.#sent,
      dropped: this.#dropped,
      failed: this.#failed,
      retried: this.#retried,
    }
  }

  /** Counts an event that could not be made. */
  countFailed(): void {
    this.#failed++
  }

  /** Something waits. */
  wake(delayMs = this.options.delayMs): void {
    if (this.#timer !== null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#start()
    }, delayMs)
    unref(this.#timer)
  }

  /** Resolves when nothing waits any more. Sessions that pause after a failure try at once, unless the service has asked for the pause. */
  async idle(): Promise<void> {
    if (this.#isIdle()) return
    for (const { timer, resume, isAsked } of [...this.#paused.values()]) {
      if (isAsked) continue
      clearTimeout(timer)
      resume()
    }
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#idle ??= withResolvers()
    const { promise } = this.#idle
    this.#start()
    return promise
  }

  #isIdle(): boolean {
    return this.queue.lanes.size === 0
  }

  #start(): void {
    for (const lane of this.queue.lanes.values()) {
      if (this.#running >= this.options.concurrency) return
      if (lane.sending !== null || this.#paused.has(lane)) continue
      const batch = this.queue.take(lane)
      if (batch === null) {
        if (lane.end === null || lane.last === null) this.queue.lanes.delete(lane.members.externalSessionId)
        continue
      }
      this.#running++
      void this.#send(lane, batch)
    }
    if (this.#isIdle()) {
      this.#idle?.resolve()
      this.#idle = null
    }
  }

  async #send(lane: Lane, first: Batch): Promise<void> {
    let batch: Batch | null = first
    while (batch !== null) {
      const answer = await this.#attempt(batch)
      if (answer.isSent) {
        lane.failures = 0
        this.#sent += batch.events.length
        this.#settle(lane, batch)
        break
      }
      const { error, retryAfter } = answer
      if (isRetryable(error.status, error.code)) {
        this.#retried++
        lane.failures++
        this.#report(error)
        this.#running--
        // Other sessions need not wait.
        this.#start()
        await this.#pause(lane, retryAfter)
        this.#running++
      } else if (mayBeSplit(error.status ?? 0) && batch.events.length > 1) {
        const half = Math.ceil(batch.events.length / 2)
        this.queue.putBack(lane)
        batch = this.queue.take(lane, half)
      } else {
        this.#failed += batch.events.length
        this.#giveUp(batch.events, error)
        this.#settle(lane, batch)
        break
      }
    }
    this.#running--
    this.#start()
  }

  async #attempt({ body }: Batch): Promise<Attempt> {
    const { url, secret, timeoutMs } = this.options
    try {
      const response = await this.options.fetch(`${url}/v3/rest/agent-conversations/append`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-service-agent-key': secret },
        body,
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      })
      const text = await response.text()
      if (response.ok) return { isSent: true }
      return {
        isSent: false,
        error: errorOf(response.status, text),
        retryAfter: response.headers.get('retry-after'),
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown'
      return { isSent: false, error: new EarshotError(`no answer: ${reason}`, 'network'), retryAfter: null }
    }
  }

  #settle(lane: Lane, batch: Batch): void {
    this.queue.settle(lane)
    this.options.spool?.remove(batch.events.map(({ number }) => number))
  }

  /** A session that has failed waits. It waits less where the application waits, unless the service has said how long. */
  #pause(lane: Lane, retryAfter: string | null): Promise<void> {
    const asked = waitMs(lane.failures, retryAfter, Date.now(), Math.random())
    const ms = this.#idle !== null && retryAfter === null ? Math.min(asked, MOST_AWAITED_MS) : asked
    return new Promise((resolve) => {
      const resume = () => {
        this.#paused.delete(lane)
        resolve()
      }
      const timer = setTimeout(resume, ms)
      unref(timer)
      this.#paused.set(lane, { timer, resume, isAsked: retryAfter !== null })
    })
  }

  #giveUp(events: readonly Waiting[], error: EarshotError): void {
    this.options.spool?.remove(events.map(({ number }) => number))
    this.#report(error)
  }

  #report(error: EarshotError): void {
    try {
      this.options.onError(error)
    } catch {
      // An error of the handler must not reach the application.
    }
  }
}

/** Of a session that has failed. */
interface Pause {
  readonly timer: ReturnType<typeof setTimeout>
  readonly resume: () => void
  /** True if the service has said how long (`Retry-After`). */
  readonly isAsked: boolean
}

type Attempt =
  | { readonly isSent: true }
  | { readonly isSent: false; readonly error: EarshotError; readonly retryAfter: string | null }

function errorOf(status: number, text: string): EarshotError {
  const answered = `the service answered ${status}`
  try {
    const { code, message } = JSON.parse(text) as { code?: unknown; message?: unknown }
    if (typeof code === 'string')
      return new EarshotError(
        typeof message === 'string' ? `${answered}: ${message}` : answered,
        code,
        status,
      )
  } catch {}
  return new EarshotError(answered, 'unexpected_answer', status)
}

/** A waiting sender does not keep a process alive. Browsers and edge runtimes have numbers as timers. */
function unref(timer: ReturnType<typeof setTimeout>): void {
  ;(timer as { unref?: () => void }).unref?.()
}

function withResolvers() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
