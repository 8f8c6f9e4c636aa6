/**
 * Sessions of clients before protocol version 2026-07-28, and the questions to their users.
 *
 * A session stores what the client declared once, at its start. It is a row in PostgreSQL, so every process of the service can
 * answer every request of it, also after a restart. A question goes out on the open answer of a call, and the user's answer comes
 * back as another request, which may reach another process: it is stored, and the process that asked looks for it.
 */
import type { Deps } from '../../../kernel/deps.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { isUuid } from '../../../platform/ids.ts'
import { deleteOldApprovals } from '../approval.store.ts'
import * as store from './store.ts'

export type { Owner, SessionRow } from './store.ts'

/** Of one user. The longest unused one makes room for a new one. */
const MAX_SESSIONS = 20
/** Days after the last use. */
export const SESSION_DAYS = 7
const LOOK_MS = 500
/** Longer answers are not stored: the questions ask for nothing but yes or no. */
const MAX_ANSWER_CHARACTERS = 16_384

/** The members of a JSON-RPC response beside its id. */
export type Answer = Readonly<Record<string, unknown>>

export type LegacySessions = ReturnType<typeof createLegacySessions>

interface Waiting {
  readonly organizationId: string
  readonly resolve: (answer: Answer) => void
}

export function createLegacySessions({ sql, log }: Pick<Deps, 'sql' | 'log'>) {
  const waiting = new Map<string, Waiting>()
  const stopping = new AbortController()
  let timer: Timer | null = null

  /** One statement looks for all answers that this process waits for. */
  async function look(): Promise<void> {
    if (waiting.size === 0) return stop()
    try {
      const organizationIds = [...new Set([...waiting.values()].map((one) => one.organizationId))]
      for (const { id, answer } of await store.selectAnswers(sql, organizationIds, [...waiting.keys()]))
        waiting.get(id)?.resolve(answer as Answer)
    } catch (error) {
      log.warn({ err: error }, 'could not look for answers of users')
    }
  }

  function stop(): void {
    if (timer !== null) clearInterval(timer)
    timer = null
  }

  return {
    /** Aborted when the process stops: calls that wait for a user end. */
    stopping: stopping.signal,

    stop: (): void => stopping.abort(new Error('the service stops')),

    /** @returns the id of the session */
    async start(
      owner: store.Owner,
      session: { readonly protocolVersion: string; readonly capabilities: object },
    ): Promise<string> {
      // Not in the order of time: the id is not guessed from another one.
      const id = crypto.randomUUID()
      await transaction(sql, (tx) => store.insertSession(tx, owner, { id, ...session }, MAX_SESSIONS))
      return id
    },

    /** Null if the user has no such session, or it has expired. */
    async find(owner: store.Owner, id: string): Promise<store.SessionRow | null> {
      const session = isUuid(id)
        ? await store.findSession(sql, owner, id.toLowerCase(), SESSION_DAYS)
        : undefined
      if (session?.stale)
        store
          .touchSession(sql, owner, session.id)
          .catch((error: unknown) => log.warn({ err: error }, 'could not record the use of a session'))
      return session ?? null
    },

    /** @returns false if the user has no such session */
    end: async (owner: store.Owner, id: string): Promise<boolean> =>
      isUuid(id) && (await store.deleteSession(sql, owner, id.toLowerCase())),

    /** Opens a question. @returns its id, under which the client answers */
    async ask(owner: store.Owner, sessionId: string): Promise<string> {
      const id = crypto.randomUUID()
      await store.insertQuestion(sql, owner, { id, sessionId })
      return id
    },

    /** Waits for the answer. @throws the reason of the signal */
    async answerOf(owner: store.Owner, id: string, signal: AbortSignal): Promise<Answer> {
      const { promise, resolve, reject } = Promise.withResolvers<Answer>()
      const leave = () => reject(signal.reason)
      signal.throwIfAborted()
      signal.addEventListener('abort', leave, { once: true })
      waiting.set(id, { organizationId: owner.organizationId, resolve })
      timer ??= setInterval(look, LOOK_MS)
      timer.unref()
      try {
        return await promise
      } finally {
        signal.removeEventListener('abort', leave)
        waiting.delete(id)
        store
          .deleteQuestion(sql, owner, id)
          .catch((error: unknown) => log.warn({ err: error }, 'could not delete a question'))
      }
    },

    /** Stores the answer to a question of the session. What answers none is ignored. */
    async answer(owner: store.Owner, sessionId: string, id: unknown, answer: Answer): Promise<void> {
      if (typeof id !== 'string' || !isUuid(id)) return
      const text = JSON.stringify(answer)
      if (text.length > MAX_ANSWER_CHARACTERS) return
      const isOpen = await store.answerQuestion(sql, owner, { id, sessionId, answer: text })
      // The usual case: the question came from this process.
      if (isOpen) waiting.get(id)?.resolve(answer)
    },
  }
}

/** Rows that one statement deletes. */
const DELETIONS = 1_000

/** Deletes sessions that were not used for `SESSION_DAYS`, and questions of processes that ended. */
export async function deleteExpired(sql: Deps['sql'], stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted && (await store.deleteUnusedSessions(sql, SESSION_DAYS, DELETIONS)) === DELETIONS);
  while (!stopping.aborted && (await store.deleteOldQuestions(sql, DELETIONS)) === DELETIONS);
  while (!stopping.aborted && (await deleteOldApprovals(sql, DELETIONS)) === DELETIONS);
}
