/**
 * The requests of this process that are sending bytes, one for each upload.
 *
 * The rule: a newcomer ends the one before it and waits until that has closed its file; whoever still waits when the next
 * one comes never begins. What other processes do is not known here: the writer number in the database is for them.
 */
import { AppError } from '../platform/errors.ts'
import { Superseded } from './state.ts'

/** Why a request is cut off. */
export type Cut = 'superseded' | 'closed' | 'stopping'

interface Turn {
  readonly controller: AbortController
  /** Settles, never rejects, when it does nothing any more; so have those before it. */
  readonly ended: Promise<void>
}

export interface Writers {
  /** Runs `work` as the one request of the upload; `cut` is aborted with a `Cut` when it must end. @throws Superseded */
  run<T>(uploadId: string, work: (cut: AbortSignal) => Promise<T>): Promise<T>
  /** Cuts off whoever is sending: the upload has ended. */
  close(uploadId: string): Promise<void>
  /** Cuts off everybody, and lets nobody begin. */
  stop(): Promise<void>
}

export function createWriters(): Writers {
  const newest = new Map<string, Turn>()
  let stopping = false
  const cutOff = async (turn: Turn | undefined, why: Cut) => {
    turn?.controller.abort(why)
    await turn?.ended
  }
  return {
    async run(uploadId, work) {
      if (stopping)
        throw new AppError('unavailable', 'This server is about to stop. Send the request again.', {
          headers: { 'retry-after': '1' },
        })
      const before = newest.get(uploadId)
      const controller = new AbortController()
      const { promise: ended, resolve } = Promise.withResolvers<void>()
      const turn = { controller, ended }
      newest.set(uploadId, turn)
      try {
        await cutOff(before, 'superseded')
        if (controller.signal.aborted) throw new Superseded('a newer request has taken over')
        return await work(controller.signal)
      } finally {
        if (newest.get(uploadId) === turn) newest.delete(uploadId)
        resolve()
      }
    },
    close: (uploadId) => cutOff(newest.get(uploadId), 'closed'),
    async stop() {
      stopping = true
      await Promise.all([...newest.values()].map((turn) => cutOff(turn, 'stopping')))
    },
  }
}
