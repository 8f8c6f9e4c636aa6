/** Tells a browser to play an object or to offer it for saving (RFC 6266). Pure. */

/** Types that browsers play without running code in them. SVG, for example, is a document that may contain scripts. */
const PLAYED = /^(?:audio|video)\/|^image\/(?:jpeg|png|webp)$/i

/** The value of `Content-Disposition`, with the name in ASCII for old programs and in full. */
export function contentDisposition(contentType: string, fileName: string): string {
  const plain = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  const exact = encodeURIComponent(fileName.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${PLAYED.test(contentType) ? 'inline' : 'attachment'}; filename="${plain}"; filename*=UTF-8''${exact}`
}
