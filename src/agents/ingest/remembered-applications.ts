/**
 * The application of a request, remembered from the requests before it.
 *
 * The rule: what is remembered is never the reason for an answer. Whoever stores a request looks at the application in the
 * same statement as at the session, and a request that is refused before that is judged again by what is stored now.
 */
import { LRUCache } from 'lru-cache'
import { createSharedLoad } from '../../platform/concurrency/shared-load.ts'
import type { IngestApplication } from '../applications/store.ts'

export interface FoundApplication {
  readonly application: IngestApplication
  /** False: just read. */
  readonly remembered: boolean
}

export interface RememberedApplications {
  get(organizationId: string, applicationId: string): Promise<FoundApplication>
  invalidate(applicationId: string): void
}

const CAPACITY = 1_000

/** Keeps the most recently used applications of this process; concurrent requests share a look-up. */
export function createRememberedApplications(
  load: (organizationId: string, applicationId: string) => Promise<IngestApplication>,
): RememberedApplications {
  const known = new LRUCache<string, IngestApplication>({ max: CAPACITY })
  const sharedLoad = createSharedLoad((_organizationId, applicationId) => applicationId, load)

  return {
    async get(organizationId, applicationId) {
      const kept = known.get(applicationId)
      const application = kept ?? (await sharedLoad(organizationId, applicationId))
      known.set(applicationId, application)
      return { application, remembered: kept !== undefined }
    },
    invalidate: (applicationId) => void known.delete(applicationId),
  }
}
