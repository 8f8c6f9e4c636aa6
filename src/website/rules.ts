/** Pure decisions about submissions. */

/** A member that people do not see and robots fill: what fills it is answered like anybody and dropped. */
export function isFromRobot(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, '_gotcha')) return false
  const { _gotcha: trap } = body as { _gotcha: unknown }
  return trap !== '' && trap !== null
}

/** The members that `names` lists, trimmed, without those that are empty. */
export function givenFields(
  names: readonly string[],
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const given = names.flatMap((name) => {
    const value = Object.hasOwn(body, name) ? body[name] : undefined
    return typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()] as const] : []
  })
  return Object.fromEntries(given)
}
