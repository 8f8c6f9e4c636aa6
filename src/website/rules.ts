/** Pure decisions about submissions. */

/** A member that people do not see and robots fill: what fills it is answered like anybody and dropped. */
export function isFromRobot(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, '_gotcha')) return false
  const { _gotcha: trap } = body as { _gotcha: unknown }
  return trap !== '' && trap !== null
}

/** The body with its strings trimmed, for the form to judge; what is no object stays what it is. */
export function trimmed(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  const members = Object.entries(body).map(([name, value]) => [
    name,
    typeof value === 'string' ? value.trim() : value,
  ])
  return Object.fromEntries(members)
}

/** The members that `names` lists, without those that are empty. */
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
