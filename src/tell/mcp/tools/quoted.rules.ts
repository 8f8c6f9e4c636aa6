/** Texts of others in questions to the user. Pure. */

const MAX_QUOTED = 120

/** The text in quotation marks, on one line and cut, so that it cannot look like text of the service. */
export function quoted(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s“”]+/gu, ' ').trim()
  const characters = [...line]
  return `“${characters.length > MAX_QUOTED ? `${characters.slice(0, MAX_QUOTED).join('')}…` : line}”`
}
