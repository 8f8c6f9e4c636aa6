/**
 * What whoever processes uploaded files needs of an upload.
 *
 * The rule: everything here is for a fenced transaction of the recording's actor, and names the upload that `beginProcessing`
 * gave: an upload that was deleted or has ended meanwhile is not moved.
 */
export {
  beginProcessing,
  findProcessed,
  hasActiveUpload,
  moveUpload,
  type ProcessedUpload,
  processAgain,
  recordEncodeProgress,
  recordingsToProcessAgain,
} from './processing.store.ts'
export { discardKept } from './store.ts'
