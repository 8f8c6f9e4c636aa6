/**
 * What whoever processes uploaded files needs of an upload.
 *
 * The rule: everything here is for a fenced transaction of the recording's actor, and names the upload that `beginProcessing`
 * gave: an upload that was deleted or has ended meanwhile is not moved.
 */
export {
  beginProcessing,
  moveUpload,
  type ProcessedUpload,
  recordEncodeProgress,
} from './processing.store.ts'
