/** Prints, as JSON, the regular expressions that files build when they are loaded, and those in the schemas that they export. */
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dir, '../..')

interface Found {
  readonly place: string
  readonly source: string
  readonly flags: string
}

/** The expressions that a file builds when it is loaded, and those in the schemas that it exports. */
async function expressionsOf(path: string): Promise<readonly Found[]> {
  const found: Found[] = []
  const Original = globalThis.RegExp
  globalThis.RegExp = new Proxy(Original, {
    construct(target, [source, flags]: [unknown, string?]) {
      if (typeof source === 'string') found.push({ place: path, source, flags: flags ?? '' })
      return Reflect.construct(target, [source, flags])
    },
  })
  try {
    const schemas = Object.values((await import(join(ROOT, path))) as object)
    return [...found, ...schemas.flatMap((schema) => patternsIn(schema, path, new Set()))]
  } finally {
    globalThis.RegExp = Original
  }
}

function patternsIn(value: unknown, place: string, seen: Set<object>): readonly Found[] {
  if (typeof value !== 'object' || value === null || seen.has(value)) return []
  seen.add(value)
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) =>
    name === 'pattern' && typeof member === 'string'
      ? [{ place, source: member, flags: '' }]
      : patternsIn(member, place, seen),
  )
}

const found: Found[] = []
for (const path of process.argv.slice(2)) found.push(...(await expressionsOf(path)))
await Bun.write(Bun.stdout, JSON.stringify(found))
process.exit(0)
