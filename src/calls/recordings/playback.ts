/**
 * Temporary playback URLs, created when a recording is read.
 *
 * A URL grants access to one object. It expires after a time, or when the recording no longer refers to that object
 * because it was deleted or its media was replaced. URLs are not stored.
 */

import { baseUrlOf } from '../../http/base-url.ts'
import type { AssetStatus } from '../../kernel/asset-status.ts'
import type { Deps } from '../../kernel/deps.ts'
import { isUuid } from '../../platform/ids.ts'
import { playbackFileName } from './playback.rules.ts'
import { isShown } from './store.ts'

/** Longer than anybody plays one recording without a break. */
const LIFETIME_MS = 6 * 60 * 60 * 1_000

export interface PlaybackUrl {
  readonly url: string
  readonly expiresAt: Date
}

/** URLs for players that show a waveform and a poster. */
export interface PlayerUrls extends PlaybackUrl {
  /** null if there is none. */
  readonly waveformUrl: string | null
  readonly posterUrl: string | null
}

/** The media of a recording. */
interface PlayableAsset {
  readonly id: string
  readonly displayName: string | null
  readonly assetStatus: AssetStatus | null
  readonly assetObjectKey: string | null
  readonly assetContentType: string | null
}

interface PreviewableAsset extends PlayableAsset {
  readonly assetWaveformKey: string | null
  readonly assetPosterKey: string | null
}

/**
 * Methods return null if there is nothing to play. `request` supplies the address of this service unless it is
 * configured.
 */
export interface Playback {
  urlOf(asset: PlayableAsset, request: Request): Promise<PlaybackUrl | null>
  urlsOf(asset: PreviewableAsset, request: Request): Promise<PlayerUrls | null>
  /** Whether a recording still refers to the object of this key. */
  isShown(objectKey: string): Promise<boolean>
}

type PlaybackDeps = Pick<Deps, 'storage' | 'clock' | 'config' | 'sql'>

/** The key format of `media/objects.ts`: `recordings/<recording id>/<attempt>/<name>`. */
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
  { storage, config, clock }: PlaybackDeps,
  { id, displayName }: PlayableAsset,
  key: string,
  { contentType, expiresAt, request }: Granted,
): Promise<string> {
  const fileName = playbackFileName(displayName ?? id, contentType)
  const times = { now: clock.now(), expiresAt }
  return storage.playbackUrl(key, { contentType, fileName, ...times, baseUrl: baseUrlOf(request, config) })
}

interface Granted {
  readonly contentType: string
  readonly expiresAt: Date
  readonly request: Request
}
