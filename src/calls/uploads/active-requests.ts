/**
 * The requests of this process that are sending bytes, one per upload.
 *
 * A new request aborts the one before it and waits until that one has closed its file. A request that is superseded
 * while it waits never begins. The writer number in the database guards against requests in other processes.
 */
import { AppError } from '../../platform/errors.ts'
import { Superseded } from './state.ts'

/** Why a request is aborted. */
export type AbortReason = 'superseded' | 'closed' | 'stopping'

interface ActiveRequest {
  readonly controller: AbortController
  /** Resolves, never rejects, once this request and all before it have ended. */
  readonly ended: Promise<void>
}

export interface ActiveRequests {
  /**
   * Runs `work` as the only request of the upload. `cut` is aborted with an `AbortReason` when it must end. @throws
   * Superseded
   */
  run<T>(uploadId: string, work: (cut: AbortSignal) => Promise<T>): Promise<T>
  /** Aborts a request that is sending: the upload has ended. */
  close(uploadId: string): Promise<void>
  /** Aborts every request and refuses new ones. */
  stop(): Promise<void>
}

export function createActiveRequests(): ActiveRequests {
  const newest = new Map<string, ActiveRequest>()
  let stopping = false
  const abort = async (request: ActiveRequest | undefined, why: AbortReason) => {
    request?.controller.abort(why)
    await request?.ended
  }
  return {
    async run(uploadId, work) {
      if (stopping)
        throw new AppError('unavailable', 'This server is stopping. Send the request again.', {
          headers: { 'retry-after': '1' },
        })
      const before = newest.get(uploadId)
      const controller = new AbortController()
      const { promise: ended, resolve } = Promise.withResolvers<void>()
      const request = { controller, ended }
      newest.set(uploadId, request)
      try {
        await abort(before, 'superseded')
        if (controller.signal.aborted) throw new Superseded('a newer request has taken over')
        return await work(controller.signal)
      } finally {
        if (newest.get(uploadId) === request) newest.delete(uploadId)
        resolve()
      }
    },
    close: (uploadId) => abort(newest.get(uploadId), 'closed'),
    async stop() {
      stopping = true
      await Promise.all([...newest.values()].map((request) => abort(request, 'stopping')))
    },
  }
}
