/** Removes what search has of an object, for the transaction that removes the object. */
import type { Tx } from '../../platform/db/pool.ts'
import { deleteSpeech } from './passages.store.ts'

/** Removes what was said in a recording. */
export const forgetSpeech = (tx: Tx, organizationId: string, recordingId: string): Promise<void> =>
  deleteSpeech(tx, organizationId, recordingId)
