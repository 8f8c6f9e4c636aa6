/** Plays a call. Audio has a waveform, which the service has made, so nothing is decoded in the browser. */
import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import WaveSurfer from 'wavesurfer.js'
import type { Schemas } from '../api.ts'

export interface PlayerControl {
  readonly seek: (second: number) => void
}

interface Props {
  readonly asset: Schemas['RecordingAsset']
  /** Seconds. */
  readonly start: number
  readonly control: RefObject<PlayerControl | null>
  readonly onTime: (second: number) => void
}

export function Player({ asset, start, control, onTime }: Props) {
  const media = useRef<HTMLVideoElement>(null)
  const wave = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = media.current
    if (element === null) return
    control.current = {
      seek(second) {
        element.currentTime = second
        void element.play().catch(() => {})
      },
    }
    const tell = () => onTime(element.currentTime)
    const begin = () => {
      if (start > 0) element.currentTime = start
    }
    element.addEventListener('timeupdate', tell)
    element.addEventListener('loadedmetadata', begin, { once: true })
    return () => {
      element.removeEventListener('timeupdate', tell)
      control.current = null
    }
  }, [control, onTime, start])
  useEffect(() => drawWave(wave.current, media.current, asset), [asset])
  return (
    <div class="player">
      {asset.isAudio === true ? <div ref={wave} class="wave" aria-hidden="true" /> : null}
      {/* biome-ignore lint/a11y/useMediaCaption: the transcript stands below */}
      <video
        ref={media}
        class={asset.isAudio === true ? 'audio' : ''}
        src={asset.url ?? ''}
        poster={asset.posterUrl ?? undefined}
        controls
        preload="metadata"
      />
    </div>
  )
}

/**
 * Moves the library's inline styles, which the policy of the page does not allow, into a constructed sheet. The browser judges a style
 * element when it enters the document, so this happens before.
 */
function adoptStyles(drawn: WaveSurfer): void {
  const root = drawn.getWrapper().getRootNode()
  if (!(root instanceof ShadowRoot)) return
  const style = root.querySelector('style')
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(style?.textContent ?? '')
  root.adoptedStyleSheets = [sheet]
  style?.remove()
}

/** @returns removes the waveform */
function drawWave(
  container: HTMLElement | null,
  media: HTMLMediaElement | null,
  { waveformUrl, durationSeconds }: Schemas['RecordingAsset'],
): (() => void) | undefined {
  if (container === null || media === null || waveformUrl === null || durationSeconds === null)
    return undefined
  const stop = new AbortController()
  let drawn: WaveSurfer | null = null
  const holder = document.createElement('div')
  const draw = async () => {
    const waveform: { readonly data: readonly number[]; readonly bits?: number } = await (
      await fetch(waveformUrl, { signal: stop.signal })
    ).json()
    const most = Math.max(1, ...waveform.data.map(Math.abs))
    const style = getComputedStyle(container)
    drawn = WaveSurfer.create({
      container: holder,
      media,
      height: 64,
      waveColor: style.getPropertyValue('--quiet'),
      progressColor: style.getPropertyValue('--accent'),
      peaks: [waveform.data.map((value) => value / most)],
      duration: durationSeconds,
    })
    adoptStyles(drawn)
    container.append(holder)
  }
  // Without a waveform the player still plays.
  draw().catch(() => {})
  return () => {
    stop.abort()
    drawn?.destroy()
    holder.remove()
  }
}
