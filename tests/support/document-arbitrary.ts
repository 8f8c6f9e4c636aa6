/** Values that fit a JSON Schema of the OpenAPI document, as a generator of test clients would create them. */
import fc from 'fast-check'

// biome-ignore lint/suspicious/noExplicitAny: a schema of the document, as it came over the wire
type Schema = any

const TEXT = fc.string({ unit: 'grapheme', maxLength: 30 }).filter((text) => !text.includes('\0'))

const FORMATS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  uuid: fc.uuid(),
  email: fc.emailAddress({ size: 'small' }),
  'date-time': fc
    .date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true })
    .map((date) => date.toISOString()),
  date: fc
    .date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10)),
  uri: fc.webUrl(),
  regex: fc.constantFrom('a', '\\d{4}', '[a-z]+@[a-z]+', 'x|y'),
}

/** JSON without U+0000. A schema for any JSON cannot exclude it. */
const FREE: fc.Arbitrary<unknown> = fc.oneof(
  fc.boolean(),
  fc.integer(),
  TEXT,
  fc.array(TEXT, { maxLength: 2 }),
  fc.dictionary(TEXT, fc.integer(), { maxKeys: 2 }),
)

/** `resolve` returns what a `$ref` refers to. */
export function valuesOf(schema: Schema, resolve: (reference: string) => Schema): fc.Arbitrary<unknown> {
  const values = (node: Schema): fc.Arbitrary<unknown> => {
    if (node === true || Object.keys(node).length === 0) return FREE
    if (node.$ref !== undefined) return values(resolve(node.$ref))
    if (node.const !== undefined) return fc.constant(node.const)
    if (node.enum !== undefined) return fc.constantFrom(...node.enum)
    if (Array.isArray(node.type))
      return fc.oneof(
        ...node.type.map((type: string) => values(type === 'null' ? { type } : { ...node, type })),
      )
    if (node.type === 'object') return objects(node)
    if (node.anyOf !== undefined) return fc.oneof(...node.anyOf.map(values))
    switch (node.type) {
      case 'array': {
        const { minItems = 0, maxItems = 3, items } = node
        return fc.array(values(items), { minLength: minItems, maxLength: Math.min(maxItems, minItems + 2) })
      }
      case 'string':
        return strings(node)
      case 'integer':
        return fc.integer({
          min: Math.max(node.minimum ?? -9, -(2 ** 31)),
          max: Math.min(node.maximum ?? 2 ** 31, 2 ** 31),
        })
      case 'number':
        return fc.double({ min: node.minimum ?? -1e6, max: node.maximum ?? 1e6, noNaN: true })
      case 'boolean':
        return fc.boolean()
      case 'null':
        return fc.constant(null)
      default:
        return FREE
    }
  }
  /** One alternative is chosen. Its members override those of the object. */
  const objects = (node: Schema): fc.Arbitrary<unknown> => {
    const { oneOf, anyOf, ...plain } = node
    const choices = (oneOf ?? [{}]).flatMap((one: Schema) =>
      (anyOf ?? [{}]).map((any: Schema) => merge(plain, one, any)),
    )
    return fc.oneof(...choices.map(members))
  }
  const merge = (...parts: readonly Schema[]): Schema => {
    const properties: Record<string, Schema> = {}
    for (const part of parts)
      for (const [name, member] of Object.entries<Schema>(part.properties ?? {})) {
        const known = properties[name]
        if (member === false || known === undefined) properties[name] = member
        else if (known !== false) properties[name] = combine(known, member)
      }
    return { ...parts[0], properties, required: parts.flatMap((part) => part.required ?? []) }
  }
  const combine = (known: Schema, more: Schema): Schema => {
    const base = known.$ref === undefined ? known : resolve(known.$ref)
    if (more.properties !== undefined || more.anyOf !== undefined)
      return merge(base, more, more.anyOf?.[0] ?? {})
    return { ...base, ...more }
  }
  const members = (node: Schema): fc.Arbitrary<unknown> => {
    const given = Object.entries<Schema>(node.properties ?? {}).filter(([, member]) => member !== false)
    const record = fc.record(Object.fromEntries(given.map(([name, member]) => [name, values(member)])), {
      requiredKeys: node.required ?? [],
    })
    return record.map((value) => complete(node, value as Record<string, unknown>))
  }
  /** Removes members that need another member that is missing. */
  const complete = (node: Schema, value: Record<string, unknown>) => {
    for (const [name, others] of Object.entries<string[]>(node.dependentRequired ?? {}))
      if (name in value && others.some((other) => !(other in value))) delete value[name]
    return value
  }
  const strings = (node: Schema): fc.Arbitrary<string> => {
    const { format, pattern, not, minLength = 0, maxLength = 40 } = node
    const made =
      format !== undefined
        ? FORMATS[format]!
        : pattern === undefined || pattern.startsWith('^[^\\u0000]')
          ? fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, minLength + 20) })
          : fc.stringMatching(new RegExp(pattern))
    const fits = pattern === undefined ? null : new RegExp(pattern)
    return made
      .filter((text) => fits === null || fits.test(text))
      .filter((text) => [...text].length >= minLength && [...text].length <= maxLength && text !== not?.const)
  }
  return values(schema)
}
