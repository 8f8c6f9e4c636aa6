/** Pure decisions about submissions. */

/** True if the hidden field `_gotcha` is filled. Only robots fill it; they get the usual response and nothing is stored. */
export function isFromRobot(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, '_gotcha')) return false
  const { _gotcha: trap } = body as { _gotcha: unknown }
  return trap !== '' && trap !== null
}

/** Trims the strings of the body before validation. A body that is not an object stays unchanged. */
export function trimmed(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  const members = Object.entries(body).map(([name, value]) => [
    name,
    typeof value === 'string' ? value.trim() : value,
  ])
  return Object.fromEntries(members)
}

/** The members in `names` that are not empty. */
export function givenFields(
  names: readonly string[],
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const given = names.flatMap((name) => {
    const value = Object.hasOwn(body, name) ? body[name] : undefined
    return typeof value === 'string' && value !== '' ? [[name, value] as const] : []
  })
  return Object.fromEntries(given)
}
