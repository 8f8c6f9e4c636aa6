/** What a browser is to do with an object: play it, or offer to save it (RFC 6266). Pure. */

/** What a browser plays without running anything that is in it; SVG, for one, is a document with scripts. */
const PLAYED = /^(?:audio|video)\/|^image\/(?:jpeg|png|webp)$/i

/** The value of `Content-Disposition`: the name in ASCII for old programs, and as it is. */
export function contentDisposition(contentType: string, fileName: string): string {
  const plain = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  const exact = encodeURIComponent(fileName.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${PLAYED.test(contentType) ? 'inline' : 'attachment'}; filename="${plain}"; filename*=UTF-8''${exact}`
}
