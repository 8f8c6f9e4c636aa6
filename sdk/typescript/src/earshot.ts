/**
 * The sending client. Its methods return at once and never throw: what goes wrong reaches `onError` and the counters.
 */
import {
  type AppendEvent,
  createIdSource,
  feedbackId,
  type IdSource,
  lastIdOf,
  type Message,
  type Rating,
  type Spoken,
  spokenOf,
  storable,
  timeOf,
} from './messages.rules.ts'
import {
  type EarshotOptions,
  membersOf,
  participantOf,
  type SessionOptions,
  withDefaults,
} from './options.ts'
import type { EndStatus, SessionMembers } from './queue.ts'
import { EarshotError, Sender, type Stats } from './sender.ts'
import { openSpool, type Spool } from './spool.ts'

/** One conversation. */
export interface Session {
  /**
   * Hands over the whole history; call it whenever a turn is complete. Only what is new is sent. A message with an `id` and another text
   * is a revision.
   */
  sync(messages: readonly Message[]): void
  /**
   * Feedback on an answer of the agent.
   * @param answer the `id` of the message, or the message itself. A message without an id is the last one of the session with its text
   */
  feedback(answer: string | Message, rating: Rating, comment?: string): void
  /** The conversation is over. A later message is stored, too. */
  end(status?: EndStatus): void
}

/** Sessions whose sent messages are remembered. Of older ones the whole history is sent again, which changes nothing. */
const REMEMBERED = 1_000

/** Sends conversations in the background. Create one per process, and call `close()` before it ends. */
export class Earshot {
  readonly #options: EarshotOptions
  readonly #onError: (error: EarshotError) => void
  readonly #agentKey: string
  readonly #sender: Sender
  readonly #spool: Spool | null
  readonly #known = new Map<string, Known>()
  readonly #atExit: (() => void) | null

  /** @throws Error if an option is missing: the only method that throws, at the start of the application */
  constructor(options: EarshotOptions = {}) {
    const { url, agentKey, secret } = withDefaults(options)
    this.#options = options
    this.#onError = options.onError ?? warnOnce()
    this.#agentKey = agentKey
    this.#spool =
      options.spool === undefined ? null : openSpool(options.spool, (reason) => this.#fail(reason, 'spool'))
    this.#sender = new Sender({
      url,
      secret,
      fetch: options.fetch ?? (((...request: Parameters<typeof fetch>) => fetch(...request)) as typeof fetch),
      timeoutMs: options.timeoutMs ?? 30_000,
      concurrency: options.concurrency ?? 4,
      delayMs: options.delayMs ?? 20,
      maxEvents: options.maxEvents ?? 10_000,
      maxBytes: options.maxBytes ?? 16 * 1024 * 1024,
      spool: this.#spool,
      onError: this.#onError,
    })
    this.#restore()
    this.#atExit = onExit(() => this.flush({ timeoutMs: options.exitMs ?? 5_000 }))
  }

  /** @param id the application's id of the conversation, the same in every process */
  session(id: string, options: SessionOptions = {}): Session {
    const members = membersOf(this.#agentKey, id, options)
    const participant = options.person && participantOf(options.person).externalId
    return {
      sync: (messages) => this.#safely(() => this.#sync(members, participant, messages)),
      feedback: (answer, rating, comment) =>
        this.#safely(() => this.#feedback(members, participant, answer, rating, comment)),
      end: (status = 'ended') => this.#safely(() => this.#end(members, status)),
    }
  }

  /** Resolves with true when everything is sent, with false after the time. Never rejects. */
  async flush({ timeoutMs = 30_000 }: { readonly timeoutMs?: number } = {}): Promise<boolean> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), timeoutMs)
    })
    const done = await Promise.race([this.#sender.idle().then(() => true), late])
    clearTimeout(timer)
    return done
  }

  /** Counts since the start: queued, sent, dropped, failed, retried. */
  stats(): Stats {
    return this.#sender.stats()
  }

  /** Sends what waits and ends. */
  async close(options?: { readonly timeoutMs?: number }): Promise<boolean> {
    this.#atExit?.()
    return this.flush(options)
  }

  #sync(members: SessionMembers, participant: string | undefined, messages: readonly Message[]): void {
    const known = this.#knownOf(members.externalSessionId)
    const history = messages.flatMap((message) => {
      const spoken = this.#spokenOf(message)
      return spoken === null ? [] : [{ message, spoken }]
    })
    const ids = known.source.idsOf(history.map(({ spoken }) => spoken))
    const now = new Date()
    const lane = this.#sender.queue.laneOf(members)
    for (const [at, { message, spoken }] of history.entries()) {
      const id = ids[at] as string
      known.ids.set(message, id)
      if (known.texts.get(id) === spoken.text) continue
      known.texts.set(id, spoken.text)
      this.#add(lane, members, {
        externalEventId: id,
        type: spoken.type,
        occurredAt: timeOf(message, now),
        ...(spoken.type === 'user_message' && participant !== undefined
          ? { participantExternalId: participant }
          : {}),
        content: spoken.text,
      })
    }
    this.#wake()
  }

  #feedback(
    members: SessionMembers,
    participant: string | undefined,
    answer: string | Message,
    rating: Rating,
    comment: string | undefined,
  ): void {
    const known = this.#knownOf(members.externalSessionId)
    const target = typeof answer === 'string' ? answer : (known.ids.get(answer) ?? this.#idOf(known, answer))
    if (!target) throw new Error('feedback needs the id of a message, or a message with a text')
    const text = comment === undefined ? undefined : this.#cleaned(comment)
    this.#add(this.#sender.queue.laneOf(members), members, {
      externalEventId: feedbackId(target),
      type: 'feedback',
      occurredAt: new Date().toISOString(),
      ...(participant === undefined ? {} : { participantExternalId: participant }),
      feedback: { targetEventExternalId: target, rating, ...(text ? { comment: text } : {}) },
    })
    this.#wake()
  }

  #end(members: SessionMembers, status: EndStatus): void {
    const lane = this.#sender.queue.laneOf(members)
    lane.last ??= this.#knownOf(members.externalSessionId).last
    if (lane.last === null)
      this.#fail('an end needs a message, as this process has sent none', 'invalid_message')
    lane.end = status
    this.#wake()
  }

  #add(lane: ReturnType<Sender['queue']['laneOf']>, members: SessionMembers, event: AppendEvent): void {
    const waiting = this.#sender.queue.add(lane, event)
    this.#knownOf(members.externalSessionId).last = waiting.json
    this.#spool?.add(members, waiting)
  }

  /** Null for what is no part of the conversation. A strange message loses only itself, and is counted. */
  #spokenOf(message: Message): Spoken | null {
    try {
      return this.#redacted(spokenOf(message))
    } catch (error) {
      this.#lose(error instanceof Error ? error.message : 'unknown')
      return null
    }
  }

  #redacted(spoken: Spoken | null): Spoken | null {
    if (spoken === null) return null
    try {
      const text = this.#cleaned(spoken.text)
      return text.trim() === '' ? null : { ...spoken, text }
    } catch {
      this.#lose('the redaction failed, so its message is left out')
      return null
    }
  }

  #cleaned(text: string): string {
    const { redact } = this.#options
    const clean = storable(text)
    return redact === undefined ? clean : storable(redact(clean))
  }

  /** Of a message that only looks like one that was handed over, such as an answer that a hook has heard. */
  #idOf(known: Known, message: Message): string | null {
    const spoken = this.#redacted(spokenOf(message))
    return spoken === null ? (message.id ?? null) : lastIdOf(spoken, (id) => known.texts.has(id))
  }

  #knownOf(id: string): Known {
    const known = this.#known.get(id) ?? {
      source: createIdSource(),
      texts: new Map(),
      ids: new WeakMap(),
      last: null,
    }
    // The least recently used session is the first.
    this.#known.delete(id)
    this.#known.set(id, known)
    if (this.#known.size > REMEMBERED) this.#known.delete(this.#known.keys().next().value as string)
    return known
  }

  #wake(): void {
    this.#sender.wake()
    this.#options.waitUntil?.(this.flush())
  }

  #restore(): void {
    for (const { members, number, json } of this.#spool?.read() ?? [])
      this.#sender.queue.restore(this.#sender.queue.laneOf(members), { number, json, bytes: json.length })
    if (this.#sender.queue.events > 0) this.#sender.wake()
  }

  #safely(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#lose(error instanceof Error ? error.message : 'unknown')
    }
  }

  /** An event that cannot be made. */
  #lose(reason: string): void {
    this.#sender.countFailed()
    this.#fail(reason, 'invalid_message')
  }

  #fail(reason: string, code: string): void {
    try {
      this.#onError(new EarshotError(reason, code))
    } catch {
      // An error of the handler must not reach the application.
    }
  }
}

/** Tells each kind of error once, because an application that hears nothing would never know that nothing is stored. */
function warnOnce(): (error: EarshotError) => void {
  const told = new Set<string>()
  return ({ message, code }) => {
    if (told.has(code)) return
    told.add(code)
    console.warn(`earshot: ${message} (${code})`)
  }
}

/** What was handed over of a session. */
interface Known {
  readonly source: IdSource
  /** The last text of each event. */
  readonly texts: Map<string, string>
  readonly ids: WeakMap<Message, string>
  last: string | null
}

/** Calls `work` when the process has nothing else to do (Node, Bun, Deno). @returns a function that takes it back */
function onExit(work: () => Promise<unknown>): (() => void) | null {
  const { process } = globalThis as {
    process?: {
      once?: (name: string, work: () => void) => void
      off?: (name: string, work: () => void) => void
    }
  }
  if (typeof process?.once !== 'function') return null
  const listener = () => void work()
  process.once('beforeExit', listener)
  return () => process.off?.('beforeExit', listener)
}
