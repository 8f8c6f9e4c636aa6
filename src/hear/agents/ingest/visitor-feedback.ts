/**
 * Stores what a visitor of a web page says about a response. The visitor is not trusted: the feedback creates no session, concerns only a
 * response that is stored, and replaces only what visitors said about the same response before.
 */
import type { Sql } from '../../../platform/db/pool.ts'
import { AppError } from '../../../platform/errors.ts'
import type { Applications } from '../applications/service.ts'
import type { Ingest } from './service.ts'
import { findTarget } from './visitor-feedback.store.ts'

interface VisitorFeedback {
  readonly organizationId: string
  readonly applicationId: string
  readonly keyId: string
  readonly externalSessionId: string
  /** The `externalEventId` of the response. */
  readonly targetId: string
  readonly rating: 'positive' | 'negative'
  readonly comment?: string | undefined
  readonly receivedAt?: string | undefined
}

/** `unknown`: the session or its response is not stored, or not yet. `refused`: it never will be accepted. */
type VisitorOutcome = 'stored' | 'unknown' | 'refused'
export type StoreVisitorFeedback = (feedback: VisitorFeedback) => Promise<VisitorOutcome>

interface Parts {
  readonly sql: Sql
  readonly applications: Pick<Applications, 'loadForIngest'>
  readonly ingest: Ingest
}

/** One event for each response, whatever the length of its id. It is in no namespace of derived ids of append. */
export function feedbackIdOf(targetId: string): string {
  return `visitor-${new Bun.CryptoHasher('sha256').update(targetId).digest('hex')}`
}

/** A visitor who goes back to an earlier opinion needs the next revision, because append takes it for a late retry. */
const REVISIONS_AHEAD = 3

export function createStoreVisitorFeedback({ sql, applications, ingest }: Parts): StoreVisitorFeedback {
  return async (given) => {
    const { organizationId, applicationId, keyId, externalSessionId, targetId, rating, comment, receivedAt } =
      given
    const principal = { kind: 'agent', organizationId, applicationId, secretId: keyId } as const
    const key = { organizationId, applicationId, externalSessionId }
    const externalEventId = feedbackIdOf(targetId)
    const feedback = {
      targetEventExternalId: targetId,
      rating,
      ...(comment === undefined ? {} : { comment }),
    }
    try {
      const { agentKey } = await applications.loadForIngest(organizationId, applicationId)
      const target = await findTarget(sql, key, targetId, externalEventId)
      if (target?.isResponse !== true) return 'unknown'
      const { environment } = target
      // An application that names its environments takes the feedback where it takes the response.
      const context = environment === null ? {} : { context: { environment } }
      const event = { externalEventId, type: 'feedback', feedback, ...context }
      const request = (one: object) => async () => [jsonBytes({ agentKey, externalSessionId, events: [one] })]
      const { events, deduplicatedEventCount } = await ingest.append(principal, request(event), receivedAt)
      const [place] = events
      if (deduplicatedEventCount === 0 || place === undefined) return 'stored'
      const present = (await findTarget(sql, key, targetId, externalEventId))?.revision ?? place.revision
      const { sequence } = place
      const occurredAt = new Date().toISOString()
      for (let ahead = 1; present > place.revision && ahead <= REVISIONS_AHEAD; ahead++) {
        const revised = { ...event, sequence, revision: present + ahead, occurredAt, final: true }
        if (await isStored(() => ingest.ingest(principal, request(revised), receivedAt))) break
      }
      return 'stored'
    } catch (error) {
      if (error instanceof AppError && error.code !== 'unavailable') return 'refused'
      throw error
    }
  }
}

/** False if another request took the revision. */
async function isStored(ingest: () => Promise<unknown>): Promise<boolean> {
  try {
    await ingest()
    return true
  } catch (error) {
    if (error instanceof AppError && error.code === 'event_changed') return false
    throw error
  }
}

const jsonBytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))
