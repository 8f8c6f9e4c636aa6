/**
 * Accepted file types, and transitions of a recording's asset (specification, "Recording asset status"). Pure.
 *
 * The bytes decide the type of a file, never its name or a server's `Content-Type`. Every statement that changes an
 * asset's status takes its condition from `ASSET_EVENTS`.
 */
import type { AssetErrorCode } from '../assets/rules.ts'

/** 5 GiB. */
export const MAX_MEDIA_BYTES = 5 * 1024 ** 3

/** Why an attempt failed, with a code of the API. */
export class MediaError extends Error {
  override readonly name = 'MediaError'

  constructor(
    readonly code: AssetErrorCode,
    /** false if another attempt would fail the same way. */
    readonly retryable: boolean,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** A container format: the demuxers that may read it, and its media types with and without video. */
export interface Container {
  readonly name: 'mp4' | 'quicktime' | 'webm' | 'matroska' | 'ogg' | 'flac' | 'wav' | 'aac' | 'mp3' | 'mpeg'
  readonly demuxers: string
  readonly audioType: string
  readonly videoType: string
  /** The header states a wrong length: the demuxer reads to the end of the file, and what is published gets another header. */
  readonly isLengthWrong?: true
  /** What stands before the stream and what demuxers and players do not pass by themselves. What is published begins with the stream. */
  readonly skippedBytes?: number
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
/** Chrome records H.264 as Matroska. It is never published as it is, so no client sees its type. */
const MATROSKA = { ...WEBM, name: 'matroska' } as const
const OGG = { name: 'ogg', demuxers: 'ogg', audioType: 'audio/ogg', videoType: 'video/ogg' } as const
const FLAC = { name: 'flac', demuxers: 'flac', audioType: 'audio/flac', videoType: 'audio/flac' } as const
const WAV = { name: 'wav', demuxers: 'wav', audioType: 'audio/wav', videoType: 'audio/wav' } as const
/** A WAV file whose header claims more or fewer samples than there are. */
export const WAV_OF_WRONG_LENGTH: Container = { ...WAV, isLengthWrong: true }
const AAC = { name: 'aac', demuxers: 'aac', audioType: 'audio/aac', videoType: 'audio/aac' } as const
const MP3 = { name: 'mp3', demuxers: 'mp3', audioType: 'audio/mpeg', videoType: 'audio/mpeg' } as const
const MPEG = {
  name: 'mpeg',
  demuxers: 'mpeg,mpegvideo',
  audioType: 'audio/mpeg',
  videoType: 'video/mpeg',
} as const

/** Arguments of ffprobe and ffmpeg that open a file with the demuxers of its container only. */
export const demuxerArguments = ({ demuxers, isLengthWrong, skippedBytes }: Container): readonly string[] => [
  ...['-protocol_whitelist', 'file', '-format_whitelist', demuxers],
  ...(isLengthWrong === true ? ['-ignore_length', '1'] : []),
  // Formats are recognised by the beginning of the file, whatever is skipped. So this one is named.
  ...(skippedBytes === undefined ? [] : ['-f', demuxers, '-skip_initial_bytes', `${skippedBytes}`]),
]

export const CONTAINERS: readonly Container[] = [
  MP4,
  QUICKTIME,
  WEBM,
  MATROSKA,
  OGG,
  FLAC,
  WAV,
  AAC,
  MP3,
  MPEG,
]

/** Number of bytes that determine the type of a file, at its start or behind what stands before its stream. */
export const SNIFFED_BYTES = 4_096

/** Something stands before the stream: look again `bytes` further on. */
export interface Preamble {
  readonly kind: 'id3' | 'ape' | 'padding'
  readonly bytes: number
}

/** What stands at a place of a file. null: nothing that is accepted. Playlists are not accepted. */
export function sniff(head: Uint8Array): Container | Preamble | null {
  const text = new TextDecoder('latin1').decode(head.subarray(0, 64))
  const box = text.slice(4, 8)
  if (box === 'ftyp') return text.slice(8, 12) === 'qt  ' ? QUICKTIME : MP4
  if (['moov', 'mdat', 'wide'].includes(box)) return QUICKTIME
  if (text.startsWith('\x1aE\xdf\xa3'))
    return text.includes('webm') ? WEBM : text.includes('matroska') ? MATROSKA : null
  if (text.startsWith('OggS')) return OGG
  if (/^(?:RIFF|RF64)[\s\S]{4}WAVE/.test(text)) return WAV
  if (text.startsWith('\0\0\x01\xba') || text.startsWith('\0\0\x01\xb3')) return MPEG
  return sniffSound(head)
}

/** As `sniff`, behind a tag or padding, where only sound without a container may stand. */
export function sniffBehind(head: Uint8Array, isTagged: boolean): Container | Preamble | null {
  const found = sniffSound(head)
  if (found !== null || !isTagged || head.length === 0) return found
  // Behind a tag, players look for the first frame of MP3, but not in a page or a playlist.
  return PRINTED.test(new TextDecoder('latin1').decode(head.subarray(0, 8))) ? null : MP3
}

const PRINTED = /^[\x20-\x7e\r\n\t]+$/

function sniffSound(head: Uint8Array): Container | Preamble | null {
  const text = new TextDecoder('latin1').decode(head.subarray(0, 16))
  if (text.startsWith('fLaC')) return FLAC
  if (text.startsWith('ID3')) return { kind: 'id3', bytes: id3Bytes(head) }
  if (text.startsWith('APETAGEX')) return { kind: 'ape', bytes: apeBytes(head) }
  const padding = head.findIndex((byte) => !PADDING.has(byte))
  if (padding !== 0)
    return head.length === 0 ? null : { kind: 'padding', bytes: padding < 0 ? head.length : padding }
  return elementary(head)
}

/** Zeros, and the line breaks and blanks that a script writes before its output. */
const PADDING: ReadonlySet<number> = new Set([0, 9, 10, 13, 32])
const ID3_HEADER_BYTES = 10
const ID3_HAS_FOOTER = 0x10
const APE_HEADER_BYTES = 32

/** ID3v2, section 3.1: the size has four times seven bits. */
function id3Bytes(head: Uint8Array): number {
  const size = [6, 7, 8, 9].reduce((sum, at) => sum * 128 + ((head[at] ?? 0) & 0x7f), 0)
  const footer = ((head[5] ?? 0) & ID3_HAS_FOOTER) === 0 ? 0 : ID3_HEADER_BYTES
  return ID3_HEADER_BYTES + size + footer
}

/** APEv2: the size, little-endian, counts everything but the header. */
function apeBytes(head: Uint8Array): number {
  const size = [15, 14, 13, 12].reduce((sum, at) => sum * 256 + (head[at] ?? 0), 0)
  return APE_HEADER_BYTES + size
}

/** Frames without a container: eleven bits of synchronisation; only AAC has layer 0. */
function elementary([first = 0, second = 0]: Uint8Array): Container | null {
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return null
  return (second & 0xf6) === 0xf0 ? AAC : MP3
}

/** Time for one transfer: the largest file at 7 Mbit/s. A slow origin keeps others waiting. */
export const MAX_TRANSFER_MS = 100 * 60_000

/** Time to encode one file. */
export const MAX_ENCODE_MS = 5 * 60 * 60_000
/** Time to compute the waveform of one file. */
export const MAX_WAVEFORM_MS = 75 * 60_000

/** Time for a turn: transfer, encoding, and the rest, which is mostly the waveform of a day of audio. */
export const MAX_TURN_MS = 10 * 60 * 60_000

/** After this time a transfer is not retried any more. */
export const MAX_AGE_SECONDS = 6 * 60 * 60

/** How a failed attempt ends: with an error code, or with another attempt. */
export function outcomeOf(
  error: MediaError,
  ageSeconds: number,
  maxAgeSeconds: number,
): 'retry' | AssetErrorCode {
  return error.retryable && ageSeconds < maxAgeSeconds ? 'retry' : error.code
}
