/** Finds the members of a value that its schema does not know, and that are therefore ignored. */
import type { TSchema } from '@sinclair/typebox'

/** Most paths of one answer. */
export const MAX_IGNORED = 20
const MAX_PATH = 200
/** A name that is no identifier may be somebody's words: the answer, which others log, does not repeat it. */
const IDENTIFIER = /^[A-Za-z_$][\w$-]{0,63}$/
const OTHER_NAME = '…'
const NOTHING: readonly string[] = []

/** The known members of an object, or the items of a list. Null: whatever stands there is kept. */
interface Known {
  readonly members: Members | null
  readonly items: Known | null
}

interface Members {
  readonly byName: ReadonlyMap<string, Known | null>
  /**
   * The names of an earlier object in their order, and what stands there. The objects of a caller have the same names in the same order,
   * so that most names are compared once instead of being looked up.
   */
  readonly names: string[]
  readonly inOrder: (Known | null)[]
}

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>
  readonly items?: Shape
}

/**
 * A search for unknown members: `createUnknownMembers(IngestRequest)(body)` is `['participants[0].name']`, at most `MAX_IGNORED` paths.
 *
 * It is for values that have passed the schema, on hot paths: it makes nothing where all names are known.
 */
export function createUnknownMembers(schema: TSchema): (value: unknown) => readonly string[] {
  const known = knownOf(schema as Shape)
  return (value) => (known === null ? null : unknownIn(known, value))?.slice(0, MAX_IGNORED) ?? NOTHING
}

function knownOf({ properties, items }: Shape): Known | null {
  if (properties !== undefined) {
    const members = Object.entries(properties).map(([name, member]) => [name, knownOf(member)] as const)
    return { members: { byName: new Map(members), names: [], inOrder: [] }, items: null }
  }
  const inner = items === undefined ? null : knownOf(items)
  return inner === null ? null : { members: null, items: inner }
}

/** Paths within the value; null where there are none. */
function unknownIn({ members, items }: Known, value: unknown): string[] | null {
  if (typeof value !== 'object' || value === null) return null
  return Array.isArray(value) ? unknownInList(items, value) : unknownInObject(members, value)
}

function unknownInList(items: Known | null, list: readonly unknown[]): string[] | null {
  if (items === null) return null
  let found: string[] | null = null
  for (let index = 0; index < list.length; index++) {
    const inner = unknownIn(items, list[index])
    if (inner === null) continue
    found = added(found, inner, `[${index}]`)
    if (found.length >= MAX_IGNORED) break
  }
  return found
}

function unknownInObject(members: Members | null, object: object): string[] | null {
  if (members === null) return null
  const { names, inOrder } = members
  let found: string[] | null = null
  let place = 0
  for (const name in object) {
    const known = name === names[place] ? inOrder[place] : lookUp(members, name, place)
    if (known !== undefined) place++
    if (known === null) continue
    const inner = known === undefined ? [''] : unknownIn(known, (object as Record<string, unknown>)[name])
    if (inner === null) continue
    found = added(found, inner, IDENTIFIER.test(name) ? name : OTHER_NAME)
    if (found.length >= MAX_IGNORED) break
  }
  return found
}

/** Undefined: the name is not known. */
function lookUp({ byName, names, inOrder }: Members, name: string, place: number): Known | null | undefined {
  const known = byName.get(name)
  if (known === undefined) return undefined
  names[place] = name
  inOrder[place] = known
  return known
}

function added(found: string[] | null, inner: readonly string[], before: string): string[] {
  const paths = inner.map((path) => {
    const dot = path === '' || path.startsWith('[') || before === '' ? '' : '.'
    return `${before}${dot}${path}`.slice(0, MAX_PATH)
  })
  return found === null ? paths : [...found, ...paths]
}
