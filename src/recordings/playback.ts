/**
 * Playback of recordings: a temporary URL for media that is complete, made when somebody asks for the recording.
 *
 * The rule: a URL grants access to one object and to nothing else, until it expires; nothing of it is stored.
 */
import type { Deps } from '../container.ts'
import { baseUrlOf } from '../http/base-url.ts'
import type { AssetStatus } from './model.ts'
import { playbackFileName } from './playback.rules.ts'

/** Longer than the longest recording that somebody would watch in one go. */
const LIFETIME_MS = 6 * 60 * 60 * 1_000

export interface PlaybackUrl {
  readonly url: string
  readonly expiresAt: Date
}

/** What is known of a recording's media. */
export interface PlayableAsset {
  readonly id: string
  readonly displayName: string | null
  readonly assetStatus: AssetStatus | null
  readonly assetObjectKey: string | null
  readonly assetContentType: string | null
}

/** null where there is nothing to play. `request` tells the address of this service where it is not configured. */
export type PlaybackUrlOf = (asset: PlayableAsset, request: Request) => Promise<PlaybackUrl | null>

export function createPlaybackUrls({
  storage,
  clock,
  config,
}: Pick<Deps, 'storage' | 'clock' | 'config'>): PlaybackUrlOf {
  return async (asset, request) => {
    if (asset.assetStatus !== 'completed' || asset.assetObjectKey === null) return null
    const contentType = asset.assetContentType ?? 'application/octet-stream'
    const expiresAt = new Date(Math.floor((clock.now().getTime() + LIFETIME_MS) / 1_000) * 1_000)
    const url = await storage.playbackUrl(asset.assetObjectKey, {
      contentType,
      fileName: playbackFileName(asset.displayName ?? asset.id, contentType),
      expiresAt,
      baseUrl: baseUrlOf(request, config),
    })
    return { url, expiresAt }
  }
}
