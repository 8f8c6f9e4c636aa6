/**
 * The SQL statements of the source as TypeScript sees them: the row type of each typed template, and sample values of
 * any type. Uses the API of TypeScript 5, which TypeScript 7 does not have.
 */
import { join, resolve } from 'node:path'
import ts from 'typescript-5'

const ROOT = resolve(import.meta.dir, '../../..')

/** A template such as `` sql<Row[]>`select …` ``. */
export interface TypedTemplate {
  /** Path in the repository, with the line of the tag: `src/calls/folders/store.ts:12`. */
  readonly place: string
  /** Its strings, as its tag receives them (`textOf`). */
  readonly text: string
  readonly row: ts.Type
}

/** A function that takes a connection and creates statements. */
export interface StoreFunction {
  readonly file: string
  readonly name: string
  readonly parameters: readonly ts.Symbol[]
}

export interface StorePrograms {
  readonly checker: ts.TypeChecker
  readonly templates: readonly TypedTemplate[]
  readonly functions: readonly StoreFunction[]
}

/** Reads the matching files. Takes a few seconds. */
export function readStores(patterns: readonly string[]): StorePrograms {
  const files = patterns.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: ROOT })]).sort()
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT)
  const program = ts.createProgram(
    files.map((file) => join(ROOT, file)),
    options,
  )
  const checker = program.getTypeChecker()
  const sources = files.map((file) => ({ file, source: program.getSourceFile(join(ROOT, file))! }))
  return {
    checker,
    templates: sources.flatMap(({ file, source }) => templatesOf(checker, file, source)),
    functions: sources.flatMap(({ file, source }) => functionsOf(checker, file, source)),
  }
}

function templatesOf(checker: ts.TypeChecker, file: string, source: ts.SourceFile): TypedTemplate[] {
  const found: TypedTemplate[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node)) {
      const [rows] = node.typeArguments ?? []
      const row = rows && checker.getIndexTypeOfType(checker.getTypeFromTypeNode(rows), ts.IndexKind.Number)
      const { line } = source.getLineAndCharacterOfPosition(node.getStart())
      const place = `${file}:${line + 1}`
      if (row !== undefined) found.push({ place, text: textOf(stringsOf(node.template)), row })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function stringsOf(template: ts.TemplateLiteral): readonly string[] {
  if (!ts.isTemplateExpression(template)) return [template.text]
  return [template.head.text, ...template.templateSpans.map(({ literal }) => literal.text)]
}

/** Identifies a template. A stack trace cannot, because a tail call leaves no frame. */
export function textOf(strings: readonly string[]): string {
  return strings.join('$')
}

/** Functions that the file itself declares and exports. */
function functionsOf(checker: ts.TypeChecker, file: string, source: ts.SourceFile): StoreFunction[] {
  const module = checker.getSymbolAtLocation(source)
  const exported = module === undefined ? [] : checker.getExportsOfModule(module)
  return exported.flatMap((symbol) => {
    const declaration = symbol.valueDeclaration
    if (declaration?.getSourceFile() !== source) return []
    const [signature] = checker.getTypeOfSymbol(symbol).getCallSignatures()
    return signature === undefined ? [] : [{ file, name: symbol.name, parameters: signature.getParameters() }]
  })
}

/** Which member of a union a sample has: the first with a value, the last, or none if that is allowed. */
export const VARIANTS = ['first', 'last', 'absent'] as const
export type Variant = (typeof VARIANTS)[number]

const EMPTY = ts.TypeFlags.Null | ts.TypeFlags.Undefined | ts.TypeFlags.Void
const MAX_DEPTH = 6
/** A type of the driver's interface. */
const CONNECTIONS = new Set(['Sql', 'TransactionSql'])

/** What samples are built with. */
export interface Samples {
  readonly checker: ts.TypeChecker
  readonly variant: Variant
  /** Used in place of a connection. */
  readonly query: unknown
  /** Used in place of a fragment of a statement, by the name of its parameter or member. */
  fragment(name: string): unknown
}

/** A sample of the type, as far as statements need it. `name` is the parameter or member that has it. */
export function sample(samples: Samples, type: ts.Type, name = '', depth = 0): unknown {
  const again = (other: ts.Type, member = name) => sample(samples, other, member, depth + 1)
  if (depth > MAX_DEPTH) return null
  const symbol = type.getSymbol()?.name ?? ''
  if (CONNECTIONS.has(symbol)) return samples.query
  if (symbol === 'PendingQuery') return samples.fragment(name)
  if (type.isUnion()) return ofUnion(type, samples.variant, again)
  if (type.isStringLiteral() || type.isNumberLiteral()) return type.value
  const { flags } = type
  if (flags & ts.TypeFlags.BooleanLiteral) return samples.checker.typeToString(type) === 'true'
  if (flags & ts.TypeFlags.StringLike) return 'text'
  if (flags & ts.TypeFlags.NumberLike) return 1
  if (flags & EMPTY) return flags & ts.TypeFlags.Null ? null : undefined
  if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return {}
  return ofObject(samples.checker, type, again)
}

type Again = (type: ts.Type, member?: string) => unknown

function ofUnion(type: ts.UnionType, variant: Variant, again: Again): unknown {
  const empty = type.types.find(({ flags }) => flags & EMPTY)
  const values = type.types.filter(({ flags }) => !(flags & EMPTY))
  if (variant === 'absent' && empty !== undefined) return again(empty)
  const chosen = variant === 'last' ? values.at(-1) : values[0]
  return chosen === undefined ? undefined : again(chosen)
}

function ofObject(checker: ts.TypeChecker, type: ts.Type, again: Again): unknown {
  const name = type.getSymbol()?.name
  if (name === 'Date') return new Date(0)
  if (name === 'Buffer' || name === 'Uint8Array') return Buffer.from('bytes')
  const items = checker.getTypeArguments(type as ts.TypeReference)
  const [item] = items
  if (checker.isTupleType(type)) return items.map((one) => again(one))
  if (checker.isArrayType(type)) return item === undefined ? [] : [again(item)]
  if (name === 'ReadonlySet' || name === 'Set') return new Set(item === undefined ? [] : [again(item)])
  if (name === 'ReadonlyMap' || name === 'Map') return new Map()
  if (type.getCallSignatures().length > 0) return () => Promise.resolve(undefined)
  return Object.fromEntries(
    type.getProperties().map((member) => [member.name, again(checker.getTypeOfSymbol(member), member.name)]),
  )
}
