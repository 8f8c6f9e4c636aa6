/**
 * Playback of recordings: a temporary URL for media that is complete, made when somebody asks for the recording.
 *
 * A URL grants access to one object and to nothing else, until it expires, or until the recording shows that object no longer:
 * deleted, or replaced by other media. Nothing of the URL is stored.
 */
import type { Deps } from '../container.ts'
import { baseUrlOf } from '../http/base-url.ts'
import { isUuid } from '../platform/ids.ts'
import type { AssetStatus } from './model.ts'
import { playbackFileName } from './playback.rules.ts'
import { isShown } from './store.ts'

/** Longer than the longest recording that somebody would watch in one go. */
const LIFETIME_MS = 6 * 60 * 60 * 1_000

export interface PlaybackUrl {
  readonly url: string
  readonly expiresAt: Date
}

/** For players that show media before they play it. */
export interface PlayerUrls extends PlaybackUrl {
  /** null where there is none. */
  readonly waveformUrl: string | null
  readonly posterUrl: string | null
}

/** What is known of a recording's media. */
export interface PlayableAsset {
  readonly id: string
  readonly displayName: string | null
  readonly assetStatus: AssetStatus | null
  readonly assetObjectKey: string | null
  readonly assetContentType: string | null
}

export interface DecoratedAsset extends PlayableAsset {
  readonly assetWaveformKey: string | null
  readonly assetPosterKey: string | null
}

/** null where there is nothing to play. `request` tells the address of this service where it is not configured. */
export interface Playback {
  urlOf(asset: PlayableAsset, request: Request): Promise<PlaybackUrl | null>
  urlsOf(asset: DecoratedAsset, request: Request): Promise<PlayerUrls | null>
  /** Whether a recording still shows the object of this key. */
  isShown(objectKey: string): Promise<boolean>
}

type PlaybackDeps = Pick<Deps, 'storage' | 'clock' | 'config' | 'sql'>

/** As `media/objects.ts` names objects: `recordings/<recording id>/<attempt>/<name>`. */
const RECORDING_OF_KEY = /^recordings\/([^/]+)\//

export function createPlayback(deps: PlaybackDeps): Playback {
  const urlOf: Playback['urlOf'] = async (asset, request) => {
    if (asset.assetStatus !== 'completed' || asset.assetObjectKey === null) return null
    const expiresAt = new Date(Math.floor((deps.clock.now().getTime() + LIFETIME_MS) / 1_000) * 1_000)
    const contentType = asset.assetContentType ?? 'application/octet-stream'
    return {
      url: await sign(deps, asset, asset.assetObjectKey, { contentType, expiresAt, request }),
      expiresAt,
    }
  }
  return {
    urlOf,
    async urlsOf(asset, request) {
      const playback = await urlOf(asset, request)
      if (playback === null) return null
      const { expiresAt } = playback
      const extra = (key: string | null, contentType: string) =>
        key === null ? null : sign(deps, asset, key, { contentType, expiresAt, request })
      const [waveformUrl, posterUrl] = await Promise.all([
        extra(asset.assetWaveformKey, 'application/json'),
        extra(asset.assetPosterKey, 'image/jpeg'),
      ])
      return { ...playback, waveformUrl, posterUrl }
    },
    async isShown(objectKey) {
      const recordingId = RECORDING_OF_KEY.exec(objectKey)?.[1] ?? ''
      return isUuid(recordingId) && isShown(deps.sql, recordingId, objectKey)
    },
  }
}

function sign(
  { storage, config }: PlaybackDeps,
  { id, displayName }: PlayableAsset,
  key: string,
  { contentType, expiresAt, request }: Granted,
): Promise<string> {
  const fileName = playbackFileName(displayName ?? id, contentType)
  return storage.playbackUrl(key, { contentType, fileName, expiresAt, baseUrl: baseUrlOf(request, config) })
}

interface Granted {
  readonly contentType: string
  readonly expiresAt: Date
  readonly request: Request
}
