/**
 * Checks the structure of the source tree by its import lines and its SQL, so that the first violation of a rule is noticed.
 */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'
import manifest from '../package.json'
import { GROUPS, groupOf } from '../scripts/docs/import-graph.ts'
import { ERRORS } from '../src/app/error-catalogue.ts'
import { PLATFORM_ERRORS } from '../src/platform/errors.ts'
import { namesIn, ORDINARY_WORDS } from './feature-names.ts'
import { EXCEPTIONS, OWNERS } from './table-owners.ts'

const ROOT = resolve(import.meta.dir, '..')
const MAX_LINES = 300

/** Groups of `src` whose folders are features each. A group that is not named here is one folder. */
const GROUPS_OF_FEATURES = new Set(['access', 'analysis', 'hear', 'calls', 'understand', 'tell', 'kernel'])

/** Folders that are not features. */
const SHARED = new Set(['platform', 'http', 'actors', 'cli', 'app'])

interface Source {
  /** Relative to the repository. */
  readonly path: string
  readonly text: string
  /** Own files that it imports; `typesOnly` where nothing of them exists at run time. */
  readonly imports: readonly { readonly path: string; readonly typesOnly: boolean }[]
  /** Packages and built-in modules that it imports for more than types. */
  readonly packages: readonly string[]
}

function readSources(patterns: readonly string[]): readonly Source[] {
  return patterns
    .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: ROOT })])
    .sort()
    .map((path) => readSource(path, readFileSync(join(ROOT, path), 'utf8')))
}

/** `import … from '…'`, `export … from '…'`, `import '…'` and `import('…')`. */
const IMPORT = /\b(?:import|export)\s+(type\b)?([^'"`;()]*?\bfrom\s*)?'([^']+)'|\bimport\(\s*'([^']+)'/g

function readSource(path: string, text: string): Source {
  const code = text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '')
  const found = [...code.matchAll(IMPORT)].map(([, type, names = '', specifier, dynamic]) => ({
    specifier: specifier ?? dynamic ?? '',
    typesOnly: type !== undefined || isTypesOnly(names),
  }))
  return {
    path,
    text,
    imports: found
      .filter(({ specifier }) => specifier.startsWith('.'))
      .map(({ specifier, typesOnly }) => ({ path: normalize(join(dirname(path), specifier)), typesOnly })),
    packages: found
      .filter(({ specifier, typesOnly }) => !specifier.startsWith('.') && !typesOnly)
      .map(({ specifier }) => specifier),
  }
}

/** `{ type A, type B } from` */
function isTypesOnly(names: string): boolean {
  const list = /^\s*\{([^}]*)\}\s*from\s*$/.exec(names)?.[1]
  return list?.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type ')) ?? false
}

/** `src/hear/agents/ingest/locked.store.ts` → `agents`; `src/people/merge.ts` → `people`; '' for files of `src` itself. */
function folderOf(path: string): string {
  const [, group = '', folder = ''] = path.split('/')
  if (group.endsWith('.ts')) return ''
  return GROUPS_OF_FEATURES.has(group) ? folder : group
}

/** `src/hear/agents/ingest/locked.store.ts` → feature `agents`, layer `store`; null for files that belong to no feature. */
function placeOf(path: string): { readonly feature: string; readonly layer: string } | null {
  const folder = path.startsWith('src/') ? folderOf(path) : ''
  const file = /([^/]+)\.ts$/.exec(path)?.[1]
  if (folder === '' || file === undefined || SHARED.has(folder)) return null
  return {
    feature: folder,
    layer: /(?:^|[.-])(store|routes|actor|rules|model)$/.exec(file)?.[1] ?? 'service',
  }
}

/** Every import that breaks the rule, as `from → to`. */
function violations(isForbidden: (from: Source, to: string) => boolean): readonly string[] {
  return sources.flatMap((source) =>
    source.imports
      .filter(({ path }) => isForbidden(source, path))
      .map(({ path }) => `${source.path} → ${path}`),
  )
}

/** Runs in browsers. */
const CONSOLE = 'src/console/app/'
const inConsole = ({ path }: Source) => path.startsWith(CONSOLE)

const sources = readSources(['src/**/*.ts', 'workers/**/*.ts', 'sql/*.ts']).filter((one) => !inConsole(one))
const byPath = new Map(sources.map((source) => [source.path, source]))

describe('architecture', () => {
  test('every import of an own file leads to a file', () => {
    const dangling = violations((_, to) => /\.ts$/.test(to) && !byPath.has(to))
    expect(dangling).toEqual([])
    expect(sources.flatMap((source) => source.imports).length).toBeGreaterThan(100)
  })

  test('the console uses nothing of the service but the types of its public interface, and its days', () => {
    const pages = readSources(['src/console/app/**/*.ts', 'src/console/app/**/*.tsx'])
    const foreign = pages.flatMap(({ imports }) => imports.filter(({ path }) => !path.startsWith(CONSOLE)))
    expect(pages.length).toBeGreaterThan(20)
    const shared = foreign.filter(({ path }) => path !== 'src/platform/time-zone.rules.ts')
    expect(shared.every(({ path, typesOnly }) => typesOnly && path === 'types/openapi.generated.d.ts')).toBe(
      true,
    )
    expect(pages.filter(({ text }) => text.split('\n').length > MAX_LINES).map(({ path }) => path)).toEqual(
      [],
    )
  })

  test('the console uses packages that are installed with the service alone', () => {
    const pages = readSources(['src/console/app/**/*.ts', 'src/console/app/**/*.tsx'])
    const nameOf = (specifier: string) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? ''
    const used = new Set(pages.flatMap(({ packages }) => packages.map(nameOf)))
    expect(used.size).toBeGreaterThan(2)
    expect([...used].filter((name) => !Object.hasOwn(manifest.dependencies, name))).toEqual([])
  })

  test("a feature does not reach into another feature's store, routes or actor", () => {
    const hidden = new Set(['store', 'routes', 'actor'])
    expect(
      violations((from, to) => {
        const [source, target] = [placeOf(from.path), placeOf(to)]
        return (
          source !== null && target !== null && source.feature !== target.feature && hidden.has(target.layer)
        )
      }),
    ).toEqual([])
  })

  test('a store is used by its own feature only', () => {
    expect(
      violations((from, to) => {
        const target = placeOf(to)
        return target?.layer === 'store' && placeOf(from.path)?.feature !== target.feature
      }),
    ).toEqual([])
  })

  test('platform and the actor runtime know no feature', () => {
    expect(
      violations((from, to) => /^src\/(?:platform|actors)\//.test(from.path) && placeOf(to) !== null),
    ).toEqual([])
  })

  test('platform and the actor runtime do not name a feature, its tables or its error codes', () => {
    const features = new Set(sources.flatMap(({ path }) => placeOf(path)?.feature ?? []))
    features.delete('messages') // declarations for the runtime, in the word of the runtime
    const own = new Set(Object.keys({ ...PLATFORM_ERRORS.codes, ...PLATFORM_ERRORS.details }))
    const codes = Object.keys({ ...ERRORS.codes, ...ERRORS.details }).filter((code) => !own.has(code))
    const tables = [...features].flatMap((feature) => OWNERS[feature] ?? [])
    expect([features.size, codes.length, tables.length].every((count) => count > 10)).toBe(true)
    const uses = sources
      .filter(({ path }) => /^src\/(?:platform|actors)\//.test(path))
      .flatMap(({ path, text }) =>
        namesIn(text, [...features, ...codes, ...tables]).map((name) => ({ path, name })),
      )
    const covers = (word: { name: string; path: string }, use: { name: string; path: string }) =>
      word.name === use.name && use.path.startsWith(word.path)
    const named = uses.filter((use) => !ORDINARY_WORDS.some((word) => covers(word, use)))
    expect(named.map(({ path, name }) => `${path} names ${name}`)).toEqual([])
    // A word that is not used any more goes.
    expect(ORDINARY_WORDS.filter((word) => !uses.some((use) => covers(word, use)))).toEqual([])
  })

  test('a name is found in identifiers and texts, in every spelling, but not in comments', () => {
    const names = ['agent_event', 'upload', 'upload_closed']
    expect(namesIn("new AppError('upload_closed', '')", names)).toEqual(['upload_closed'])
    expect(namesIn('const agentEvents = AgentEvent(1)', names)).toEqual(['agent_event'])
    expect(namesIn('select 1 from upload', names)).toEqual(['upload'])
    expect(namesIn('// upload\n/** agent_event */ const uploaded = reupload', names)).toEqual([])
  })

  test('rooms of src/hear/agents import downward only', () => {
    const found = sources.filter(({ path }) => path.startsWith('src/hear/agents/'))
    expect(found.filter(({ path }) => agentRoomOf(path) === null).map(({ path }) => path)).toEqual([])
    expect(
      violations((from, to) => {
        const [source, target] = [agentRoomOf(from.path), agentRoomOf(to)]
        if (source === null || target === null || source === target) return false
        return AGENT_ROOMS[target] >= AGENT_ROOMS[source]
      }),
    ).toEqual([])
  })

  test('the client imports nothing of the server', () => {
    const ofClient = sources.filter(({ path }) => path.startsWith('src/client/'))
    expect(ofClient.length).toBeGreaterThan(0)
    expect(violations((from, to) => ofClient.includes(from) && !to.startsWith('src/client/'))).toEqual([])
  })

  test('rules are pure: no waiting, no clock, no chance, no I/O', () => {
    const rules = sources.filter((source) => placeOf(source.path)?.layer === 'rules')
    expect(rules.length).toBeGreaterThan(0)
    const impure = rules.flatMap(({ path, text }) => [
      ...(IMPURE.test(withoutStrings(withoutComments(text))) ? [path] : []),
      ...[path, ...reachable(path)].filter(doesInputOrOutput).map((other) => `${path} → … → ${other}`),
    ])
    expect(impure).toEqual([])
  })

  test('rules keep nothing between two calls', () => {
    const state =
      /^(?:export )?(?:let .*|const \w+(?:: [^=]+)? = new (?:Map|Set|WeakMap|WeakSet)(?:<.*>)?\(\))/gm
    const rules = sources.filter(({ path }) => /[./]rules\.ts$/.test(path))
    expect(
      rules.flatMap(({ path, text }) => (text.match(state) ?? []).map((found) => `${path} ${found}`)),
    ).toEqual([])
  })

  test('rules import nothing from http, not even types', () => {
    expect(
      violations((from, to) => placeOf(from.path)?.layer === 'rules' && to.startsWith('src/http/')),
    ).toEqual([])
  })

  test('no import leads to a group above, not even of a type', () => {
    const files = sources.filter(({ path }) => path.startsWith('src/') && !/^src\/[^/]+\.ts$/.test(path))
    expect(files.filter(({ path }) => groupOf(path) === null).map(({ path }) => path)).toEqual([])
    const levelOf = (path: string) => {
      const group = groupOf(path)
      return group === null ? null : GROUPS.indexOf(group)
    }
    expect(
      violations((from, to) => {
        const [level, imported] = [levelOf(from.path), levelOf(to)]
        // What starts the service stands above all groups; only the command that starts it imports it.
        if (imported === null) return to === 'src/main.ts' && from.path !== 'src/cli/commands/service.ts'
        return level !== null && imported > level
      }),
    ).toEqual([])
  })

  test('no two folders import each other, and there is no longer circle of folders, types included', () => {
    const folders = new Map<string, Set<string>>()
    for (const { path, imports } of sources)
      for (const { path: to } of imports) {
        const [from, imported] = [folderOf(path), folderOf(to)]
        if (groupOf(path) === null || groupOf(to) === null || from === imported) continue
        folders.set(from, (folders.get(from) ?? new Set()).add(imported))
      }
    expect(folders.size).toBeGreaterThan(40)
    expect(circlesOf([...folders.keys()], (folder) => folders.get(folder) ?? [])).toEqual([])
  })

  test('no import cycle at run time', () => {
    expect(findCycles(({ typesOnly }) => !typesOnly)).toEqual([])
  })

  test('no import cycle through types', () => {
    expect(findCycles(() => true)).toEqual([])
  })

  test("a feature does not hand out its store's functions through another file", () => {
    const found = sources.flatMap(({ path, text }) =>
      placeOf(path) === null || placeOf(path)?.layer === 'store'
        ? []
        : reexportsOfStores(text).map((name) => `${placeOf(path)?.feature}: ${name}`),
    )
    expect(found).toEqual([])
  })

  test('only the owner of a table names it in SQL', () => {
    const owners = new Map(
      Object.entries(OWNERS).flatMap(([folder, names]) => names.map((name) => [name, folder])),
    )
    const unowned = [...tablesOfMigrations()].filter((table) => !owners.has(table))
    expect(unowned).toEqual([])
    const found = new Map<string, boolean>()
    for (const { table, folder, writes } of tableUses([...owners.keys()])) {
      if (owners.get(table) === folder) continue
      const use = `${folder} uses ${table}`
      found.set(use, (found.get(use) ?? false) || writes)
    }
    const shown = [...found].map(([use, writes]) => (writes ? `${use} and writes to it` : use))
    const allowed = EXCEPTIONS.map(
      ({ table, folder, writes }) => `${folder} uses ${table}${writes === true ? ' and writes to it' : ''}`,
    )
    expect(shown.toSorted()).toEqual(allowed.toSorted())
  })

  test('only src/calls/assets writes the asset of a recording', () => {
    const writers = sources.filter(({ text }) =>
      [...withoutComments(text).matchAll(/\b(?:update|insert into)\s+recording\b([^`]*)/g)].some(
        ([, rest = '']) => /\basset_/.test(rest.split(/\bwhere\b/)[0] ?? ''),
      ),
    )
    expect(writers.map(({ path }) => path)).toEqual(['src/calls/assets/store.ts'])
  })

  test('the environment is read in src/app/config.ts only', () => {
    const readers = sources.filter(
      ({ path, text }) =>
        path !== 'src/app/config.ts' && /\b(?:process|Bun|import\.meta)\.env\b/.test(withoutComments(text)),
    )
    const allowed = new Set(['src/main.ts', 'src/cli.ts'])
    expect(readers.map(({ path }) => path).filter((path) => !allowed.has(path))).toEqual([])
    // The entries hand it over, once.
    for (const { path, text } of readers)
      expect([path, withoutComments(text).match(/process\.env\b/g)?.length]).toEqual([path, 1])
  })

  test('SQL is in stores, in the actor runtime and in platform only', () => {
    const outside = sources.filter(
      ({ path, text }) => /\b(?:sql|tx|query)(?:<[^`]*?>)?`/.test(withoutComments(text)) && !mayHoldSql(path),
    )
    expect(outside.map(({ path }) => path)).toEqual([])
  })

  test(`no file of src is longer than ${MAX_LINES} lines`, () => {
    const long = sources.filter(
      ({ path, text }) => path.startsWith('src/') && text.split('\n').length > MAX_LINES,
    )
    expect(long.map(({ path }) => path)).toEqual([])
  })

  test('acceptance tests import nothing of src', () => {
    const tests = readSources(['tests/acceptance/**/*.ts'])
    const reaching = tests.filter(({ imports }) => imports.some(({ path }) => path.startsWith('src/')))
    expect(reaching.map(({ path }) => path)).toEqual([])
  })
})

/**
 * Rooms of `src/hear/agents` by their level. A file imports from its own room and from lower levels, so rooms of one level do not know each
 * other (src/hear/agents/README.md).
 */
const AGENT_ROOMS = {
  shared: 0,
  events: 1,
  sessions: 2,
  applications: 2,
  ingest: 3,
  analysis: 3,
  reads: 3,
  'warm-up': 4,
} as const

/** Null for files outside of `src/hear/agents` and for files that no room is known for. */
function agentRoomOf(path: string): keyof typeof AGENT_ROOMS | null {
  if (/^src\/hear\/agents\/(?:errors|model|request-model|settings)\.ts$/.test(path)) return 'shared'
  const room = /^src\/hear\/agents\/([a-z-]+)(?:\/|\.ts$)/.exec(path)?.[1] ?? ''
  return room !== 'shared' && Object.hasOwn(AGENT_ROOMS, room) ? (room as keyof typeof AGENT_ROOMS) : null
}

/** Names of values in `export { … } from './store.ts'`, and `*`. Types may be handed out. */
function reexportsOfStores(text: string): readonly string[] {
  const code = withoutComments(text)
  return [...code.matchAll(/\bexport\s+(\{[^}]*\}|\*[^']*?)\s*from\s*'[^']*(?:\/|\.)store\.ts'/g)].flatMap(
    ([, names = '']) =>
      names.startsWith('*')
        ? ['*']
        : names
            .slice(1, -1)
            .split(',')
            .map((name) => name.trim())
            .filter((name) => name !== '' && !name.startsWith('type ')),
  )
}

/** Tables that the migrations create. */
function tablesOfMigrations(): ReadonlySet<string> {
  const files = [...new Bun.Glob('sql/migrations/*.sql').scanSync({ cwd: ROOT })]
  const statements = files.map((file) => readFileSync(join(ROOT, file), 'utf8').replaceAll(/--.*$/gm, ''))
  const names = (pattern: RegExp) =>
    statements.flatMap((sql) => [...sql.matchAll(pattern)].map(([, name = '']) => name))
  const created = names(/\bcreate (?:unlogged )?table (?:if not exists )?(\w+)/g)
  const renamed = new Set(names(/\balter table (\w+) rename to \w+/g))
  return new Set([
    ...created.filter((name) => !renamed.has(name)),
    ...names(/\balter table \w+ rename to (\w+)/g),
  ])
}

/** `from x`, `join x`, `insert into x`, `update x` and `delete from x` in the files of `src`. */
function tableUses(tables: readonly string[]) {
  const use = new RegExp(
    `\\b(from|join|insert into|update|delete from|lock table|truncate)\\s+(?:only\\s+)?(${tables.join('|')})\\b`,
    'g',
  )
  return sources
    .filter(({ path }) => path.startsWith('src/'))
    .flatMap(({ path, text }) =>
      [...withoutComments(text).matchAll(use)].map(([, verb = '', table = '']) => ({
        folder: folderOf(path),
        table,
        writes: verb !== 'from' && verb !== 'join',
      })),
    )
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}

function mayHoldSql(path: string): boolean {
  return /^src\/(?:actors|platform)\/|(?:^|[/.-])(?:store|actor)\.ts$/.test(path)
}

/** Own files that exist at run time behind a file's imports. */
function reachable(start: string): readonly string[] {
  const seen = new Set<string>()
  const visit = (path: string) => {
    for (const next of byPath.get(path)?.imports ?? []) {
      if (next.typesOnly || seen.has(next.path)) continue
      seen.add(next.path)
      visit(next.path)
    }
  }
  visit(start)
  return [...seen]
}

const PURE_PACKAGES = new Set([
  'node:url',
  'any-ascii',
  '@sinclair/typebox',
  '@sinclair/typebox/compiler',
  '@sinclair/typebox/errors',
  're2js',
  'ipaddr.js',
  'stemmer',
])

/** Waiting, clocks, chance, the machine. */
const IMPURE =
  /\b(?:await|async|fetch|setTimeout|process\.\w+|Date\.now|Math\.random)\b|\bnew Date\(\)|\bcrypto\.(?:random|getRandom)/

function doesInputOrOutput(path: string): boolean {
  const packages = byPath.get(path)?.packages ?? []
  return packages.some((name) => !PURE_PACKAGES.has(name)) || placeOf(path)?.layer === 'store'
}

function withoutStrings(text: string): string {
  return text.replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''")
}

/** Circles of files, each as its sorted paths. `counts` selects the imports. */
function findCycles(counts: (one: Source['imports'][number]) => boolean): readonly (readonly string[])[] {
  return circlesOf(
    sources.map(({ path }) => path),
    (path) =>
      (byPath.get(path)?.imports ?? [])
        .filter((one) => counts(one) && byPath.has(one.path))
        .map((one) => one.path),
  )
}

/** Strongly connected components with more than one member (Tarjan), each sorted. */
function circlesOf(
  all: readonly string[],
  importsOf: (name: string) => Iterable<string>,
): readonly (readonly string[])[] {
  const state = {
    next: 0,
    index: new Map<string, number>(),
    low: new Map<string, number>(),
    stack: [] as string[],
  }
  const circles: string[][] = []
  const visit = (name: string) => {
    state.index.set(name, state.next)
    state.low.set(name, state.next++)
    state.stack.push(name)
    for (const to of importsOf(name)) {
      if (!state.index.has(to)) visit(to)
      if (state.stack.includes(to)) state.low.set(name, Math.min(state.low.get(name)!, state.low.get(to)!))
    }
    if (state.low.get(name) !== state.index.get(name)) return
    const component = state.stack.splice(state.stack.indexOf(name))
    if (component.length > 1) circles.push(component.sort())
  }
  for (const name of all) if (!state.index.has(name)) visit(name)
  return circles
}
