/** Converts TypeBox schemas, as used for validation, to readable JSON Schema of OpenAPI 3.1 with the same meaning. */

type Node = Record<string, unknown>

/** Component schemas by name. */
export type NamedSchemas = Record<string, Node>

const EXAMPLES: ReadonlySet<string> = new Set(['example', 'examples'])

/**
 * Rewrites a whole document, bottom up. Named schemas are moved to `schemas`. @throws Error if two schemas have the
 * same name
 */
export function readable(value: unknown, schemas: NamedSchemas): unknown {
  if (Array.isArray(value)) return value.map((item) => readable(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const node = Object.fromEntries(
    // An example is a value and stays unchanged.
    Object.entries(value).map(([key, member]) => [
      key,
      EXAMPLES.has(key) ? member : readable(member, schemas),
    ]),
  )
  const rewrites = [mergeAlternatives, openRecord, typeOfConstant, withoutOwnKeywords, defaultsInWords]
  const rewritten = rewrites.reduce((current, rewrite) => rewrite(current), node)
  return moveNamed(rewritten, schemas)
}

/** A member may have the name of a keyword. Only a schema has one of these. */
const isSchema = (node: Node) =>
  typeof node.type === 'string' ||
  Array.isArray(node.type) ||
  Array.isArray(node.anyOf) ||
  typeof node.description === 'string'

/** See `OwnKeywords`. */
function withoutOwnKeywords(node: Node): Node {
  if (!isSchema(node)) return node
  const { words: _, documented, ...rest } = node
  return { ...rest, ...(documented as Node | undefined) }
}

/**
 * Moves the defaults of members into their descriptions. Code generators take a member with a `default` for a required
 * one.
 */
function defaultsInWords(node: Node): Node {
  const { properties } = node
  if (!isSchema(node) || typeof properties !== 'object' || properties === null) return node
  const members = Object.entries(properties as Record<string, Node>).map(([name, member]) => {
    if (member.default === undefined) return [name, member] as const
    const { default: value, description = '', ...rest } = member
    const said = /\b(?:default|unless given)\b/i.test(String(description))
    const words = said ? description : `${description} Unless given: \`${JSON.stringify(value)}\`.`.trim()
    return [name, { ...rest, description: words }] as const
  })
  return { ...node, properties: Object.fromEntries(members) }
}

function moveNamed(node: Node, schemas: NamedSchemas): Node {
  if (!isSchema(node) || typeof node.$id !== 'string') return node
  const { $id: name, useDescription, ...schema } = node
  const known = schemas[name]
  if (known !== undefined && !Bun.deepEquals(known, schema))
    throw new Error(`two different schemas are named ${name}`)
  schemas[name] = schema
  const reference = { $ref: `#/components/schemas/${name}` }
  return useDescription === undefined ? reference : { ...reference, description: useDescription }
}

/**
 * `anyOf` of constants of one type becomes an `enum`; of plain types, a list of types. Examples: `"open" | "ended"`,
 * and `string | null`, which OpenAPI 3.0 called nullable.
 */
function mergeAlternatives(node: Node): Node {
  if (!Array.isArray(node.anyOf)) return node
  const { anyOf, ...rest } = node
  const options = anyOf as Node[]
  const [nothing, something] = [options.filter(isNull), options.filter((option) => !isNull(option))]
  const merged = mergeConstants(something) ?? (something.length === 1 ? (something[0] as Node) : null)
  if (merged === null || typeof merged.type !== 'string') return node
  if (nothing.length === 0) return { ...merged, ...rest }
  const values = Array.isArray(merged.enum) ? { enum: [...merged.enum, null] } : {}
  return { ...merged, ...values, ...rest, type: [merged.type, 'null'] }
}

const isNull = (option: Node) => option.type === 'null'

function mergeConstants(options: readonly Node[]): Node | null {
  const types = new Set(options.map((option) => option.type))
  const plain = options.every((option) =>
    Object.keys(option).every((key) => key === 'const' || key === 'type'),
  )
  if (!plain || types.size !== 1 || !options.every((option) => 'const' in option)) return null
  return { type: options[0]?.type, enum: options.map((option) => option.const) }
}

/** A record with any keys: `patternProperties` with a pattern that matches everything. */
function openRecord(node: Node): Node {
  const { patternProperties, ...rest } = node
  if (typeof patternProperties !== 'object' || patternProperties === null) return node
  const [[pattern, schema] = [], ...others] = Object.entries(patternProperties)
  return pattern === '^(.*)$' && others.length === 0 ? { ...rest, additionalProperties: schema } : node
}

function typeOfConstant(node: Node): Node {
  if (!('const' in node) || 'type' in node) return node
  return { type: node.const === null ? 'null' : typeof node.const, ...node }
}
