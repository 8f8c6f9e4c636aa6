/** Finds a person in sessions of coding agents. Pure. */

/**
 * Regular expressions of PostgreSQL for the person's addresses and whole names. A single word of a name, such as "Will" or "Mark", says
 * nothing in program code. So a session is erased only if it has the address or the whole name; then it loses single words, too.
 */
export function patternsOf({
  email,
  formerEmails = [],
  names,
}: {
  readonly email: string | null
  readonly formerEmails?: readonly string[]
  readonly names: readonly string[]
}): readonly string[] {
  const whole = names.filter((name) => /\s/u.test(name.trim()))
  const emails = [...(email === null ? [] : [email]), ...formerEmails]
  return [...emails, ...(whole.length > 0 ? whole : names)]
    .filter((text) => text.trim().length > 1)
    .map(patternOf)
}

function patternOf(text: string): string {
  const words = text.trim().split(/\s+/u)
  return `(?:^|\\W)${words.map(literal).join('\\s+')}(?:\\W|$)`
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
