/**
 * From TypeBox schemas, as they are used for validation, to the JSON Schema of OpenAPI 3.1 as people read it. Both mean
 * the same; only the spelling changes.
 */

type Node = Record<string, unknown>

/** Rewrites a whole document, bottom up. */
export function readable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(readable)
  if (typeof value !== 'object' || value === null) return value
  const node = Object.fromEntries(Object.entries(value).map(([key, member]) => [key, readable(member)]))
  return [mergeAlternatives, openRecord, typeOfConstant].reduce((current, rewrite) => rewrite(current), node)
}

/**
 * `anyOf` of constants of one type is an `enum`; of plain types, a list of types. So `"open" | "ended"`, and `string | null`, which
 * OpenAPI 3.0 called nullable.
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

/** A record with any key: `patternProperties` with a pattern that matches everything. */
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
