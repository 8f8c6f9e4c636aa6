/**
 * The groups of the source tree and how many imports lead from one to another, types included, as the table of docs/architecture.md.
 * `tests/architecture.test.ts` refuses an import from a group to a later one.
 */
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** From the ground up: files of a group import from it and from the groups before it. */
export const GROUPS = [
  'platform',
  'actors',
  'kernel',
  'http',
  'access',
  'analysis',
  'people',
  'calls',
  'hear',
  'understand',
  'tell',
  'console',
  'client',
  'app',
  'cli',
] as const
export type Group = (typeof GROUPS)[number]

/** Null for files that belong to no group: the entries, and what runs in browsers. */
export function groupOf(path: string): Group | null {
  const name = /^src\/([^/]+)\//.exec(path)?.[1]
  if (path.startsWith('src/console/app/')) return null
  return GROUPS.find((group) => group === name) ?? null
}

const IMPORT =
  /\b(?:import|export)\s+(?:type\b)?(?:[^'"`;()]*?\bfrom\s*)?'(\.[^']+)'|\bimport\(\s*'(\.[^']+)'/g

/** Own files that a file imports, types included, relative to the repository; one for each import. */
function importsOf(path: string, text: string): readonly string[] {
  const code = text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '')
  return [...code.matchAll(IMPORT)].map(([, specifier, dynamic]) =>
    normalize(join(dirname(path), specifier ?? dynamic ?? '')),
  )
}

/** A row for each group that imports, a column for each that is imported. */
export function importTable(root: string): string {
  const counts = new Map<string, number>()
  for (const path of new Bun.Glob('src/**/*.ts').scanSync({ cwd: root }))
    for (const imported of importsOf(path, readFileSync(join(root, path), 'utf8'))) {
      const [from, to] = [groupOf(path), groupOf(imported)]
      if (from === null || to === null || from === to) continue
      counts.set(`${from} ${to}`, (counts.get(`${from} ${to}`) ?? 0) + 1)
    }
  const columns = GROUPS.filter((to) => GROUPS.some((from) => counts.has(`${from} ${to}`)))
  const rows = [...GROUPS].reverse().map((from) => {
    const cells = columns.map((to) => counts.get(`${from} ${to}`) ?? '')
    return `| \`${from}\` | ${cells.join(' | ')} |`
  })
  return [
    `| | ${columns.map((to) => `\`${to}\``).join(' | ')} |`,
    `|---|${'---|'.repeat(columns.length)}`,
    ...rows,
  ].join('\n')
}
