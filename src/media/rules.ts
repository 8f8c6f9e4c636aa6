/**
 * What media is, and what becomes of a recording's asset (specification, "Recording asset status"). Pure.
 *
 * The rule: the bytes say what a file is, never its name or what a server calls it; and the asset moves only along this
 * table, which is the condition of every statement that moves it.
 */
import type { AssetStatus } from '../recordings/model.ts'

/** 5 GiB. */
export const MAX_MEDIA_BYTES = 5 * 1024 ** 3

/** Stable codes of `asset.errorCode`, as far as ingestion gives them. */
export type AssetErrorCode =
  | 'url_unreachable'
  | 'url_forbidden'
  | 'url_not_found'
  | 'url_not_allowed'
  | 'too_many_redirects'
  | 'media_too_large'
  | 'media_empty'
  | 'unsupported_media_type'
  | 'transfer_timeout'
  | 'upload_failed'
  | 'processing_failed'

const UNDER_WAY = ['queued', 'uploading', 'processing'] as const

/** Event → where the asset must be, and where it is then. */
export const ASSET_EVENTS = {
  /** An attempt begins, whatever an earlier one that died has left. */
  begin: { from: UNDER_WAY, to: 'queued' },
  firstByte: { from: ['queued'], to: 'uploading' },
  lastByte: { from: ['uploading'], to: 'processing' },
  publish: { from: ['processing'], to: 'completed' },
  /** An upload that was sent for media that plays already; until now the old media was shown. */
  replace: { from: ['completed'], to: 'completed' },
  /** A failure that another attempt may not have. */
  retry: { from: UNDER_WAY, to: 'queued' },
  /** The media is why, or where it comes from. */
  fail: { from: UNDER_WAY, to: 'failed' },
  /** We are why: it can be tried again when an operator says so. */
  giveUp: { from: UNDER_WAY, to: 'failed' },
  fetchAgain: { from: ['failed'], to: 'queued' },
  processAgain: { from: ['failed', 'cancelled'], to: 'processing' },
} as const satisfies Readonly<
  Record<string, { readonly from: readonly AssetStatus[]; readonly to: AssetStatus }>
>

export type AssetEvent = keyof typeof ASSET_EVENTS

/** Why an attempt failed, in the words of the interface. */
export class MediaError extends Error {
  override readonly name = 'MediaError'

  constructor(
    readonly code: AssetErrorCode,
    /** false where another attempt would fail the same way. */
    readonly retryable: boolean,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

const ACCEPTED_TYPES: ReadonlySet<string> = new Set([
  'application/octet-stream',
  // What object stores say of an object of which nobody said anything.
  'binary/octet-stream',
  '',
  ...['aac', 'aacp', 'x-aac', 'flac', 'x-flac', 'mp4', 'm4a', 'x-m4a', 'mpeg', 'mp3', 'mpeg3', 'x-mpeg'].map(
    audio,
  ),
  ...['ogg', 'opus', 'vorbis', 'wav', 'wave', 'x-wav', 'vnd.wave', 'x-pn-wav', 'webm'].map(audio),
  ...['mp4', 'x-m4v', 'mpeg', 'ogg', 'webm', 'quicktime'].map((subtype) => `video/${subtype}`),
  'application/mp4',
  'application/ogg',
])

function audio(subtype: string): string {
  return `audio/${subtype}`
}

/** Of a `Content-Type` in lower case without parameters; '' where there was none. */
export function isAcceptedType(type: string): boolean {
  return ACCEPTED_TYPES.has(type)
}

/** A kind of file: the demultiplexers that may read it, and what it is called with and without pictures. */
export interface Container {
  readonly name: 'mp4' | 'quicktime' | 'webm' | 'ogg' | 'flac' | 'wav' | 'aac' | 'mp3' | 'mpeg'
  readonly demuxers: string
  readonly audioType: string
  readonly videoType: string
}

const MP4 = { name: 'mp4', demuxers: 'mov,mp4', audioType: 'audio/mp4', videoType: 'video/mp4' } as const
const QUICKTIME = {
  name: 'quicktime',
  demuxers: 'mov,mp4',
  audioType: 'video/quicktime',
  videoType: 'video/quicktime',
} as const
const WEBM = {
  name: 'webm',
  demuxers: 'matroska,webm',
  audioType: 'audio/webm',
  videoType: 'video/webm',
} as const
const OGG = { name: 'ogg', demuxers: 'ogg', audioType: 'audio/ogg', videoType: 'video/ogg' } as const
const FLAC = { name: 'flac', demuxers: 'flac', audioType: 'audio/flac', videoType: 'audio/flac' } as const
const WAV = { name: 'wav', demuxers: 'wav', audioType: 'audio/wav', videoType: 'audio/wav' } as const
const AAC = { name: 'aac', demuxers: 'aac', audioType: 'audio/aac', videoType: 'audio/aac' } as const
const MP3 = { name: 'mp3', demuxers: 'mp3', audioType: 'audio/mpeg', videoType: 'audio/mpeg' } as const
const MPEG = {
  name: 'mpeg',
  demuxers: 'mpeg,mpegvideo',
  audioType: 'audio/mpeg',
  videoType: 'video/mpeg',
} as const

/** Of which the beginning is judged. */
export const SNIFFED_BYTES = 4_096
const ID3_HEADER_BYTES = 10

/** What the first bytes of a file say it is; null for anything that is not accepted, lists of other files among it. */
export function sniff(head: Uint8Array): Container | null {
  const text = new TextDecoder('latin1').decode(head.subarray(0, 64))
  const box = text.slice(4, 8)
  if (box === 'ftyp') return text.slice(8, 12) === 'qt  ' ? QUICKTIME : MP4
  if (['moov', 'mdat', 'wide'].includes(box)) return QUICKTIME
  if (text.startsWith('\x1aE\xdf\xa3')) return text.includes('webm') ? WEBM : null
  if (text.startsWith('OggS')) return OGG
  if (text.startsWith('fLaC')) return FLAC
  if (/^(?:RIFF|RF64)[\s\S]{4}WAVE/.test(text)) return WAV
  if (text.startsWith('\0\0\x01\xba') || text.startsWith('\0\0\x01\xb3')) return MPEG
  return text.startsWith('ID3') ? behindId3(head) : elementary(head)
}

/** A tag of any size stands before MP3, AAC and FLAC; what lies behind a large one is taken for MP3. */
function behindId3(head: Uint8Array): Container {
  const size = [6, 7, 8, 9].reduce((sum, at) => sum * 128 + ((head[at] ?? 0) & 0x7f), 0)
  const audioBytes = head.subarray(ID3_HEADER_BYTES + size)
  return (
    (new TextDecoder('latin1').decode(audioBytes.subarray(0, 4)) === 'fLaC'
      ? FLAC
      : elementary(audioBytes)) ?? MP3
  )
}

/** Frames without a container: eleven bits of synchronisation, and layer 0 in AAC only. */
function elementary([first = 0, second = 0]: Uint8Array): Container | null {
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return null
  return (second & 0xf6) === 0xf0 ? AAC : MP3
}

/** For one transfer: the largest file at 7 Mbit/s. Who sends slowly keeps others from being served. */
export const MAX_TRANSFER_MS = 100 * 60_000

/** For one file to be encoded. */
export const MAX_ENCODE_MS = 5 * 60 * 60_000
/** For the outline of one file's sound. */
export const MAX_OUTLINE_MS = 75 * 60_000

/** For a turn: transfer, encoding, and time for all the rest, most of it for the outline of a day of sound. */
export const MAX_TURN_MS = 10 * 60 * 60_000

/** After this a transfer that could still succeed is given up. */
export const MAX_AGE_SECONDS = 6 * 60 * 60

/** How a failed attempt ends: with a code, or with another attempt. */
export function verdictOf(
  error: MediaError,
  ageSeconds: number,
  maxAgeSeconds: number,
): 'retry' | AssetErrorCode {
  return error.retryable && ageSeconds < maxAgeSeconds ? 'retry' : error.code
}
