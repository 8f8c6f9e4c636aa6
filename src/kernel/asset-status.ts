/** The states of the media of a recording. */
export const ASSET_STATUSES = [
  'waiting',
  'queued',
  'uploading',
  'processing',
  'completed',
  'failed',
  'cancelled',
] as const
export type AssetStatus = (typeof ASSET_STATUSES)[number]
