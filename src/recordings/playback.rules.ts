/** What a recording is called when somebody saves its media. Pure. */
import { trimOf } from '../platform/validation/trim.ts'

/** Of the media types that are taken in (specification, "Create", rule 4), and of what is made of them. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/json': 'json',
  'audio/aac': 'aac',
  'audio/flac': 'flac',
  'audio/mp4': 'm4a',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/wav': 'wav',
  'audio/webm': 'weba',
  'image/jpeg': 'jpg',
  'video/mp4': 'mp4',
  'video/mpeg': 'mpg',
  'video/ogg': 'ogv',
  'video/quicktime': 'mov',
  'video/webm': 'webm',
}

/** Code points; with an extension it fits every file system. */
const MAX_NAME = 60

/** Of a name that somebody gave to the media before it became what it is now. */
const OTHER_EXTENSION = new RegExp(`(?<=.)\\.(?:${[...new Set(Object.values(EXTENSIONS))].join('|')})$`, 'i')

/**
 * The name, without what file systems or shells take for something else, and the extension that belongs to the type instead of
 * one of another type of media.
 */
export function playbackFileName(name: string, contentType: string): string {
  const cut = [...name.replaceAll(/[\p{Cc}\p{Cf}<>:"/\\|?*]+/gu, ' ').replaceAll(/\s+/g, ' ')]
    .slice(0, MAX_NAME)
    .join('')
  const safe = trimOf(cut, '. ')
  const extension = EXTENSIONS[contentType.toLowerCase()]
  const stem = safe === '' ? 'recording' : safe
  if (extension === undefined || stem.toLowerCase().endsWith(`.${extension}`)) return stem
  return `${stem.replace(OTHER_EXTENSION, '')}.${extension}`
}
