/** The file name of downloaded media. Pure. */
import { trimOf } from '../../platform/validation/trim.ts'

/**
 * Extensions of the accepted media types (specification, "Create", rule 4) and of the types that processing creates.
 */
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

/** Code points. With an extension, the name fits every file system. */
const MAX_NAME = 60

/** An extension in the recording's name that differs from the current type. */
const OTHER_EXTENSION = new RegExp(`(?<=.)\\.(?:${[...new Set(Object.values(EXTENSIONS))].join('|')})$`, 'i')

/** The name without characters that are special to file systems or shells, and with the extension of the type. */
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
