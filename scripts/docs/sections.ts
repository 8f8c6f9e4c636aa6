/**
 * Sections of the documentation that are made from the code. Each stands between two comments, so that the rest of its page is
 * written by hand.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { NOTICES, thirdPartyNotices } from '../notices/notices.ts'
import { accuracyTables } from './accuracy.ts'
import { importTable } from './import-graph.ts'
import { roleTable } from './roles.ts'
import { commandTable, settingTables } from './tables.ts'

export interface Page {
  /** Relative to the repository. */
  readonly path: string
  readonly text: string
  /** The text with its generated section as the code has it now. */
  readonly expected: string
}

/** Every page with a generated section, and the notices, which are generated as a whole. @throws Error where a page has lost its comments */
export async function generatedPages(root: string): Promise<readonly Page[]> {
  const sections = [
    { path: 'docs/settings.md', name: 'settings', content: settingTables() },
    { path: 'docs/commands.md', name: 'commands', content: commandTable() },
    { path: 'docs/architecture.md', name: 'imports', content: importTable(root) },
    { path: 'docs/administration.md', name: 'roles', content: await roleTable() },
    { path: 'docs/accuracy.md', name: 'accuracy', content: accuracyTables(root) },
  ]
  const pages = sections.map(({ path, name, content }) => {
    const text = readFileSync(join(root, path), 'utf8')
    return { path, text, expected: withSection(path, text, name, content) }
  })
  const notices = readFileSync(join(root, NOTICES), 'utf8')
  return [...pages, { path: NOTICES, text: notices, expected: thirdPartyNotices(root) }]
}

function withSection(path: string, text: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name}: written by "bun run docs" -->`, `<!-- end of ${name} -->`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${path} has no section between "${begin}" and "${end}"`)
  return `${text.slice(0, from + begin.length)}\n\n${content}\n\n${text.slice(to)}`
}
