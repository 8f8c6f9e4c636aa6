/**
 * What browsers play, and how other media is converted. Pure.
 *
 * Media is published unchanged if Chrome, Firefox and Safari all play it on computers and phones of the last two years
 * without special hardware. Otherwise it becomes MP4 with H.264 and AAC, which everything plays. Playable streams in
 * the wrong container are copied, not encoded again, and so is a file whose header is wrong.
 */
import type { MediaFacts } from './facts.rules.ts'
import type { Container } from './rules.ts'

/** `encode`: decode and encode again; `copy`: move into another container unchanged; null: no such stream. */
type Treatment = 'copy' | 'encode' | null

export type Playback =
  | { readonly kind: 'as_is' }
  | {
      readonly kind: 'convert'
      readonly video: Treatment
      readonly audio: Treatment
      /** The container of the result; for `mp4` M4A if there is no video. */
      readonly into: 'mp4' | 'webm' | 'mp3' | 'flac' | 'wav'
    }

interface Playable {
  readonly video: readonly string[]
  readonly audio: readonly string[]
}

const MP4: Playable = { video: ['h264'], audio: ['aac', 'mp3'] }

/**
 * What all three browsers play. Sources: MDN, "Media container formats", "Web video codec guide" and "Web audio codec
 * guide", and the caniuse.com tables named below.
 *
 * - mp4: H.264 and AAC everywhere (`mpeg4`), and MP3. HEVC depends on the device (`hevc`), AV1 on Apple's hardware
 * (`av1`), VP9 and Opus in MP4 on the version of Safari; all of those are encoded.
 * - webm: VP8, VP9, Vorbis and Opus; Safari since 16 on computers and 17.4 on phones (`webm`). AV1 as above.
 * - flac, mp3, aac (ADTS): everywhere (`flac`, `mp3`, `aac`). wav: PCM in the forms below (`wav`); others not in
 * Firefox or Safari.
 * - ogg: Safari only since 18.4 (`ogg-vorbis`), so it is encoded. quicktime: not in Firefox. mpeg: nowhere.
 */
const PLAYED: Readonly<Partial<Record<Container['name'], Playable>>> = {
  mp4: MP4,
  webm: { video: ['vp8', 'vp9'], audio: ['opus', 'vorbis'] },
  flac: { video: [], audio: ['flac'] },
  mp3: { video: [], audio: ['mp3'] },
  aac: { video: [], audio: ['aac'] },
  wav: { video: [], audio: ['pcm_u8', 'pcm_s16le', 'pcm_s24le', 'pcm_f32le'] },
}

/** Decoders of phones support only 8 bits and 4:2:0. */
const PIXEL_FORMATS = ['yuv420p', 'yuvj420p']
/** H.264 level 5.2. Hardware does not decode larger frames, and software hardly does. */
const MAX_PLAYED_PIXELS = 4_096 * 2_304

/** Streams of these containers fit into MP4 unchanged. */
const OF_ONE_FAMILY: readonly Container['name'][] = ['mp4', 'quicktime', 'matroska']

/**
 * The position of `moov` in an MP4 does not matter: players request the end of the file first, and playback URLs
 * support ranges.
 */
export function playbackOf(facts: MediaFacts): Playback {
  const { container, video, audio } = facts
  const played = PLAYED[container.name]
  const isVideoPlayed = (codecs: readonly string[]) =>
    video === null ||
    (codecs.includes(video.codec) &&
      PIXEL_FORMATS.includes(video.pixelFormat) &&
      video.width * video.height <= MAX_PLAYED_PIXELS)
  const isAudioPlayed = (codecs: readonly string[]) => audio === null || codecs.includes(audio.codec)
  const isPlayed = played !== undefined && isVideoPlayed(played.video) && isAudioPlayed(played.audio)
  if (isPlayed && isSoundWhole(facts)) return isHeaderRight(facts) ? { kind: 'as_is' } : repair(facts)
  const mayCopy = OF_ONE_FAMILY.includes(container.name)
  const treatment = (stream: object | null, isPlayable: boolean): Treatment => {
    if (stream === null) return null
    return mayCopy && isPlayable ? 'copy' : 'encode'
  }
  return {
    kind: 'convert',
    video: treatment(video, isVideoPlayed(MP4.video)),
    audio: treatment(audio, isAudioPlayed(MP4.audio) && isSoundWhole(facts)),
    into: 'mp4',
  }
}

/** Browsers play the first audio stream only, and what follows a gap too early or not at all. */
function isSoundWhole({ audioTracks, gapSeconds, mayFillGaps }: MediaFacts): boolean {
  return audioTracks.length <= 1 && (gapSeconds <= MAX_GAP_SECONDS || !mayFillGaps)
}

/** Players show the length that the header claims, seek by it, and start at 0. The header of FLAC is not wrong in practice. */
function isHeaderRight({ container, claimedSeconds, durationSeconds, startSeconds }: MediaFacts): boolean {
  if (container.skippedBytes !== undefined) return false
  if (container.name === 'flac' || !(container.name in REPAIRED)) return true
  if (Math.abs(startSeconds) > MAX_ERROR_SECONDS) return false
  if (durationSeconds === null) return true
  if (claimedSeconds === null) return false
  const most = Math.max(MAX_ERROR_SECONDS, durationSeconds * MAX_ERROR_SHARE)
  return Math.abs(claimedSeconds - durationSeconds) <= most
}

const MAX_GAP_SECONDS = 0.3
const [MAX_ERROR_SECONDS, MAX_ERROR_SHARE] = [0.5, 0.01]

/** Into which container a file with a wrong header is copied. AAC without a container has no header. */
const REPAIRED: Readonly<Partial<Record<Container['name'], Extract<Playback, { kind: 'convert' }>['into']>>> =
  {
    mp4: 'mp4',
    webm: 'webm',
    mp3: 'mp3',
    flac: 'flac',
    wav: 'wav',
    aac: 'mp4',
  }

function repair({ container, video, audio }: MediaFacts): Playback {
  return {
    kind: 'convert',
    video: video === null ? null : 'copy',
    audio: audio === null ? null : 'copy',
    into: REPAIRED[container.name] ?? 'mp4',
  }
}
