/**
 * Remembers the applications of earlier requests, so that a request needs no look-up of its own.
 *
 * A remembered application never justifies an answer. The statement that stores a request compares the application with the stored
 * one. Where ingestion refuses a request earlier, it reads the application and judges the request again.
 */
import { LRUCache } from 'lru-cache'
import { createSharedLoad } from '../../../platform/concurrency/shared-load.ts'
import type { IngestApplication } from '../applications/store.ts'

interface FoundApplication {
  readonly application: IngestApplication
  /** False where the application was read just now. */
  readonly remembered: boolean
}

export interface RememberedApplications {
  get(organizationId: string, applicationId: string): Promise<FoundApplication>
  invalidate(applicationId: string): void
}

const CAPACITY = 1_000

/** Keeps the most recently used applications of this process. Concurrent requests share a look-up. */
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
