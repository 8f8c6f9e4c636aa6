/** Moves repeated parts of the document to its components, so that a client generator creates one type for them. */
import { STATUS_CODES } from 'node:http'

interface Parameter {
  readonly name: string
}
interface Response {
  readonly description: string
}
interface Operation {
  readonly operationId: string
  readonly parameters?: readonly (Parameter | Reference)[]
  readonly responses: Readonly<Record<string, Response | Reference>>
}
interface Reference {
  readonly $ref: string
}
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>

export interface SharedComponents {
  readonly parameters: Readonly<Record<string, unknown>>
  readonly responses: Readonly<Record<string, unknown>>
}

/** The paths, with references to parameters and errors that occur more than once. */
export function sharePaths<P extends Paths>(
  paths: P,
): { readonly paths: P; readonly components: SharedComponents } {
  const operations = Object.values(paths).flatMap((item) => Object.values(item))
  const parameters = collect(
    operations.flatMap(({ operationId, parameters = [] }) =>
      parameters.map((value) => ({ value, name: (value as Parameter).name, owner: operationId })),
    ),
  )
  const responses = collect(
    operations.flatMap(({ operationId, responses }) =>
      Object.entries(responses)
        .filter(([status]) => Number(status) >= 400)
        .map(([status, value]) => ({ value, name: nameOfStatus(status), owner: operationId })),
    ),
  )
  const refer = (kind: string, known: Shared) => (value: unknown) => {
    const name = known.names.get(JSON.stringify(value))
    return name === undefined ? value : { $ref: `#/components/${kind}/${name}` }
  }
  const shared = mapMembers(paths, (item) =>
    mapMembers(item as Paths[string], (operation) => ({
      ...operation,
      ...(operation.parameters === undefined
        ? {}
        : { parameters: operation.parameters.map(refer('parameters', parameters)) }),
      responses: mapMembers(operation.responses, refer('responses', responses)),
    })),
  )
  return {
    paths: shared as P,
    components: { parameters: parameters.components, responses: responses.components },
  }
}

interface Shared {
  /** Names of components by the JSON of their values. */
  readonly names: ReadonlyMap<string, string>
  readonly components: Readonly<Record<string, unknown>>
}

interface Use {
  readonly value: unknown
  readonly name: string
  /** The operation that uses the value. */
  readonly owner: string
}

/**
 * Values that occur at least twice. The most frequent value of a name gets the plain name. Others are prefixed with
 * their first user.
 */
function collect(uses: readonly Use[]): Shared {
  const names = new Map<string, string>()
  const components: Record<string, unknown> = {}
  for (const [name, sameName] of [...Map.groupBy(uses, (use) => use.name)].sort(byKey)) {
    const groups = [...Map.groupBy(sameName, ({ value }) => JSON.stringify(value))]
      .filter(([, group]) => group.length > 1)
      .sort(([, a], [, b]) => b.length - a.length)
    for (const [rank, [json, [use]]] of groups.entries()) {
      const component = rank === 0 ? name : `${use?.owner}.${name}`
      names.set(json, component)
      components[component] = use?.value
    }
  }
  return { names, components }
}

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1)

/** `404` → `NotFound`. */
function nameOfStatus(status: string): string {
  return (STATUS_CODES[status] ?? `Status${status}`).replaceAll(/[^A-Za-z]/g, '')
}

function mapMembers<A, B>(record: Readonly<Record<string, A>>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}
