/**
 * Validates what ffprobe reports about a file. Pure.
 *
 * Nothing in the report is trusted. Each value used is from a list or within bounds. A file that claims more than a
 * recording can have is refused before anything is decoded.
 */
import { type Container, MediaError } from './rules.ts'

/** Longer than any conversation. A header may claim centuries. */
export const MAX_DURATION_SECONDS = 24 * 60 * 60
/** Recorders write up to six tracks. */
const MAX_TRACKS = 8
/** Pixels of an 8K frame. A few bytes may claim a frame that fills the memory. */
export const MAX_PIXELS = 8_192 * 4_320

/**
 * Decoders that may run: codecs of recorders, cameras and browsers. FFmpeg has hundreds more, and they see no file.
 */
const VIDEO_CODECS = [
  ...['h264', 'hevc', 'vp8', 'vp9', 'av1', 'mpeg1video', 'mpeg2video', 'mpeg4', 'h263', 'theora'],
  ...['mjpeg', 'prores', 'dnxhd', 'dvvideo'],
] as const
const AUDIO_CODECS = [
  ...[
    'aac',
    'mp3',
    'mp2',
    'mp1',
    'opus',
    'vorbis',
    'flac',
    'alac',
    'ac3',
    'eac3',
    'amr_nb',
    'amr_wb',
    'speex',
  ],
  ...['pcm_u8', 'pcm_s8', 'pcm_s16le', 'pcm_s16be', 'pcm_s24le', 'pcm_s24be', 'pcm_s32le', 'pcm_s32be'],
  ...['pcm_f32le', 'pcm_f32be', 'pcm_f64le', 'pcm_alaw', 'pcm_mulaw', 'adpcm_ms', 'adpcm_ima_wav'],
  ...['adpcm_ima_qt', 'gsm', 'gsm_ms'],
] as const

/** Decoders whose name differs from their codec. */
const OTHER_NAMES = [
  ...['libdav1d', 'libaom-av1', 'libvpx', 'libvpx-vp9', 'mp3float', 'mp2float', 'mp1float', 'libopus'],
  ...['libvorbis', 'libspeex', 'libgsm', 'libgsm_ms', 'amrnb', 'amrwb', 'libopencore_amrnb'],
  'libopencore_amrwb',
]

/**
 * Subtitles and covers in ordinary files. The service does not use them, but ffprobe fails if it may not open a stream.
 */
const SUBTITLES = ['mov_text', 'text', 'subrip', 'srt', 'webvtt', 'ass', 'ssa', 'dvdsub', 'cc_dec']
const COVERS = ['png', 'bmp', 'gif', 'webp']

/** `-codec_whitelist` of ffmpeg. */
export const DECODERS = [...VIDEO_CODECS, ...AUDIO_CODECS, ...OTHER_NAMES].join(',')
/** `-codec_whitelist` of ffprobe, which opens every stream. */
export const PROBED_DECODERS = [DECODERS, ...SUBTITLES, ...COVERS].join(',')

interface StreamReport {
  readonly index?: unknown
  readonly codec_type?: unknown
  readonly codec_name?: unknown
  readonly duration?: unknown
  readonly width?: unknown
  readonly height?: unknown
  readonly pix_fmt?: unknown
  readonly avg_frame_rate?: unknown
  readonly channels?: unknown
  readonly disposition?: { readonly attached_pic?: unknown }
}

/** The parts of the ffprobe report that are used, all of them untrusted. */
export interface ProbeReport {
  readonly streams?: readonly StreamReport[]
  readonly format?: { readonly duration?: unknown }
  /** The first packets, if any. */
  readonly packets?: readonly unknown[]
}

/** Arguments of ffprobe that produce a `ProbeReport`. */
export const PROBE_ARGUMENTS: readonly string[] = [
  ...['-of', 'json', '-read_intervals', '%+#4'],
  '-show_entries',
  [
    'format=duration',
    'stream=index,codec_type,codec_name,duration,width,height,pix_fmt,avg_frame_rate,channels',
    'stream_disposition=attached_pic',
    'packet=size',
  ].join(':'),
]

interface VideoStream {
  /** Index of the stream in the file. */
  readonly index: number
  readonly codec: string
  /** Name of the format in FFmpeg; '' if unknown. */
  readonly pixelFormat: string
  readonly width: number
  readonly height: number
  /** Average frames a second; null if the file does not state it. */
  readonly frameRate: number | null
}

interface AudioStream {
  readonly index: number
  readonly codec: string
  readonly channels: number
}

export interface MediaFacts {
  readonly container: Container
  readonly contentType: string
  readonly isAudio: boolean
  /** Measured on the packets; what the header claims if they have no timestamps; null if it claims nothing possible. */
  readonly durationSeconds: number | null
  /** What the header claims, which players show; null: nothing possible, or known to be wrong. */
  readonly claimedSeconds: number | null
  /** Where the clock of the media begins. Players and FFmpeg expect 0. */
  readonly startSeconds: number
  /** Silence within the first audio stream that has no packets. */
  readonly gapSeconds: number
  /** Whether late starts and gaps of the sound are filled with silence. */
  readonly mayFillGaps: boolean
  /** The first stream of its kind, which players play. */
  readonly video: VideoStream | null
  readonly audio: AudioStream | null
  /** Every audio stream, at most `MAX_TRACKS`. What is heard is their mix. */
  readonly audioTracks: readonly AudioStream[]
}

/** @throws MediaError if the file has neither audio nor video, or claims an impossible picture */
export function factsOf(
  container: Container,
  { streams = [], format, packets = [] }: ProbeReport,
): MediaFacts {
  // The cover of an album is not a video.
  const playable = streams.filter(
    ({ codec_name, disposition }) => codec_name !== undefined && disposition?.attached_pic !== 1,
  )
  const first = (type: string) => playable.find(({ codec_type }) => codec_type === type)
  const [video, audio] = [first('video'), first('audio')]
  if (video === undefined && audio === undefined) throw unsupported('the file has neither audio nor video')
  for (const stream of playable) refuseUnknown(stream)
  // The file has an index but no packets: it was cut off, or the data is in another file.
  if (packets.length === 0)
    throw new MediaError('processing_failed', false, 'the file has an index but no data')
  const claims = [format?.duration, ...playable.map(({ duration }) => duration)].map(Number)
  const claimed = claims.find((seconds) => seconds > 0 && seconds <= MAX_DURATION_SECONDS) ?? null
  const audioTracks = playable
    .filter(({ codec_type }) => codec_type === 'audio')
    .slice(0, MAX_TRACKS)
    .map(audioOf)
  return {
    container,
    contentType: video === undefined ? container.audioType : container.videoType,
    isAudio: video === undefined,
    durationSeconds: claimed,
    claimedSeconds: container.isLengthWrong === true ? null : claimed,
    startSeconds: 0,
    gapSeconds: 0,
    mayFillGaps: true,
    video: video === undefined ? null : videoOf(video),
    audio: audioTracks[0] ?? null,
    audioTracks,
  }
}

/** An ffprobe without a decoder names its codec; one that has it refuses the file because of the allowed list. The answer is the same. */
function refuseUnknown(stream: StreamReport): void {
  if (stream.codec_type === 'video') codecOf(stream, [...VIDEO_CODECS, ...COVERS])
  if (stream.codec_type === 'audio') codecOf(stream, AUDIO_CODECS)
}

function videoOf(stream: StreamReport): VideoStream {
  const { pix_fmt, avg_frame_rate } = stream
  const [width, height] = [Number(stream.width), Number(stream.height)]
  if (!(width > 0 && height > 0 && width * height <= MAX_PIXELS))
    throw new MediaError('processing_failed', false, `the video claims ${width} x ${height} pixels`)
  const [frames = Number.NaN, seconds = Number.NaN] = String(avg_frame_rate).split('/').map(Number)
  const frameRate = frames / seconds
  return {
    index: indexOf(stream),
    codec: codecOf(stream, VIDEO_CODECS),
    pixelFormat: typeof pix_fmt === 'string' ? pix_fmt : '',
    width,
    height,
    frameRate: Number.isFinite(frameRate) && frameRate > 0 ? frameRate : null,
  }
}

function audioOf(stream: StreamReport): AudioStream {
  const channels = Number(stream.channels)
  return {
    index: indexOf(stream),
    codec: codecOf(stream, AUDIO_CODECS),
    channels: Number.isInteger(channels) && channels > 0 ? channels : 1,
  }
}

function codecOf({ codec_name }: StreamReport, known: readonly string[]): string {
  if (typeof codec_name === 'string' && known.includes(codec_name)) return codec_name
  throw unsupported(`the codec ${String(codec_name)} is not accepted`)
}

function indexOf({ index }: StreamReport): number {
  if (typeof index === 'number' && Number.isInteger(index) && index >= 0) return index
  throw new Error('ffprobe reported no stream index')
}

function unsupported(message: string): MediaError {
  return new MediaError('unsupported_media_type', false, message)
}
