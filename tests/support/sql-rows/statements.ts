/**
 * Every statement of the stores, created by calling their functions with sample values on a connection that only
 * records.
 */
import { join, resolve } from 'node:path'
import type ts from 'typescript-5'
import {
  readStores,
  type Samples,
  type StoreFunction,
  sample,
  type TypedTemplate,
  VARIANTS,
  type Variant,
} from './program.ts'
import { createRecorder } from './recorder.ts'

const ROOT = resolve(import.meta.dir, '../../..')
const HANGS_MS = 2_000
/** Fragments that come from another store. Any other fragment is a condition. */
const FRAGMENTS: Readonly<Record<string, string>> = {
  among: 'select id as recording_id from recording',
  applications: 'select id from agent_application',
  each: 'select id from agent_application',
  hiddenRecordings: 'select id from recording',
  except: '',
  bounds: '',
}

export interface TypedStatement {
  /** The template: `src/calls/folders/store.ts:12`. */
  readonly place: string
  /** With `$1`, `$2`, … in place of values. */
  readonly text: string
  readonly row: ts.Type
}

export interface Statements {
  readonly checker: ts.TypeChecker
  /** Distinct texts. A template with optional parts has several. */
  readonly statements: readonly TypedStatement[]
  /** Templates that no call reached. */
  readonly missed: readonly string[]
}

/** Calls every exported function of the files that takes a connection, or an object with one, once for each variant. */
export async function collectStatements(patterns: readonly string[]): Promise<Statements> {
  const { checker, templates, functions } = readStores(patterns)
  const byText = new Map(templates.map((template) => [template.text, template]))
  const found = new Map<string, TypedStatement>()
  for (const one of functions)
    for (const variant of VARIANTS)
      for (const { statement, template } of await statementsOf(checker, byText, one, variant)) {
        const typed = byText.get(template)
        if (typed !== undefined)
          found.set(`${typed.place} ${statement}`, { place: typed.place, text: statement, row: typed.row })
      }
  const reached = new Set([...found.values()].map(({ place }) => place))
  const missed = templates.map(({ place }) => place).filter((place) => !reached.has(place))
  return { checker, statements: [...found.values()], missed }
}

async function statementsOf(
  checker: ts.TypeChecker,
  templates: ReadonlyMap<string, TypedTemplate>,
  { file, name, parameters }: StoreFunction,
  variant: Variant,
) {
  const recorder = createRecorder((text) => {
    const row = templates.get(text)?.row
    return row === undefined ? [] : [sample({ ...samples, query: null }, row)]
  })
  const samples: Samples = {
    checker,
    variant,
    query: recorder.query,
    fragment: (member) => recorder.fragment(FRAGMENTS[member] ?? 'true'),
  }
  const module = (await import(join(ROOT, file))) as Record<string, (...values: unknown[]) => unknown>
  const values = parameters.map((parameter) =>
    sample(samples, checker.getTypeOfSymbol(parameter), parameter.name),
  )
  if (!mentions(values, recorder.query)) return []
  await settled(() => module[name]?.(...values))
  return recorder.statements()
}

function mentions(values: readonly unknown[], query: unknown): boolean {
  return values.some((value) => value === query || (isObject(value) && Object.values(value).includes(query)))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** A function may reject the sample answer to its statement. The statement is recorded by then. */
async function settled(call: () => unknown): Promise<void> {
  const { promise, resolve: giveUp } = Promise.withResolvers<void>()
  const timer = setTimeout(giveUp, HANGS_MS)
  const done = (async () => void (await call()))().catch(() => {})
  await Promise.race([done, promise])
  clearTimeout(timer)
}
