/** The encoding of a text by its first bytes. Pure. */

/** UTF-8, or UTF-16 with a byte order mark or as Latin letters show it. */
export function encodingOf(bytes: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  const [first, second, third, fourth] = bytes
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0 && fourth === 0)) return 'utf-16le'
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0 && third === 0)) return 'utf-16be'
  return 'utf-8'
}
