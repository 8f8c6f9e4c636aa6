/**
 * The part of uploads that media processing uses.
 *
 * Call these functions within a fenced transaction of the recording's actor, with the upload from `beginProcessing`.
 * They leave an upload alone that was deleted or has ended meanwhile.
 */
export { discardKept } from './garbage.store.ts'
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
