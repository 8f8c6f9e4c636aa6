/** Links, paths, commands, settings and metrics named in the Markdown files exist. */
import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { SETTINGS } from '../../src/app/settings/table.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { codeBlocksOf } from './support/code-blocks.ts'

const ROOT = resolve(import.meta.dir, '../..')
const FOLDERS = '{bench,content,docs,examples,patches,scripts,sdk,sql,src,tests}/**/*.md'
const pages = ['*.md', FOLDERS]
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: ROOT })])
  .filter((path) => !path.includes('node_modules/'))
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))

/** What the recipes of CONTRIBUTING.md add. */
const INVENTED = new Set([
  'src/calls/folders/actor.ts',
  'src/kernel/messages/folder.ts',
  'tests/actors/folder-renamed.test.ts',
  '0042_folder_color.sql',
  'folder show',
])

/** What is wrong in any page, as `page: problem`. */
const problems = (find: (page: { readonly path: string; readonly text: string }) => readonly string[]) =>
  pages.flatMap((page) => find(page).map((problem) => `${page.path}: ${problem}`))

/** The text without fenced blocks. */
const prose = (text: string) => text.replaceAll(/^```[\s\S]*?^```$/gm, '')

/** Anchor of a heading, as GitHub makes it. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')

const anchorsOf = (text: string) =>
  [...prose(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))

describe('Markdown', () => {
  test('every page is read and every fenced block is closed', () => {
    expect(pages.length).toBeGreaterThan(20)
    for (const { text } of pages) codeBlocksOf(text)
  })

  test('every relative link leads to a file, and to a heading in it', () => {
    const dead = problems(({ path, text }) =>
      [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
        if (/^(?:https?:|mailto:)/.test(target)) return []
        const [file = '', anchor] = target.split('#')
        const found = file === '' ? path : join(dirname(path), file)
        if (!existsSync(join(ROOT, found))) return [`no file ${target}`]
        if (anchor === undefined) return []
        return anchorsOf(readFileSync(join(ROOT, found), 'utf8')).includes(anchor)
          ? []
          : [`no heading ${target}`]
      }),
    )
    expect(dead).toEqual([])
  })

  test('every path that is named exists', () => {
    const missing = problems(({ path, text }) =>
      [...prose(text).matchAll(/`([^`\n]+)`/g)].flatMap(([, code = '']) =>
        isPath(code) && !INVENTED.has(code) && !existsAnywhere(code, dirname(path)) ? [code] : [],
      ),
    )
    expect(missing).toEqual([])
  })

  test('every command that is named exists', () => {
    const names = COMMANDS.map(({ name }) => name)
    const groups = new Set(names.map((name) => name.split(' ')[0]))
    const isKnown = (words: string) => {
      const [first = '', second] = words.split(' ')
      return names.includes(words) || names.includes(first) || (second === undefined && groups.has(first))
    }
    const unknown = problems(({ text }) =>
      [...text.matchAll(/(?<!from )\bearshot ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)/g)].flatMap(
        ([, words = '']) => (isKnown(words) || INVENTED.has(words) ? [] : [words]),
      ),
    )
    expect(unknown).toEqual([])
  })

  test('every setting that is named exists', () => {
    const other = new Set([
      'EARSHOT_AGENT_KEY',
      'EARSHOT_API_KEY',
      'EARSHOT_ORGANIZATION',
      'EARSHOT_SECRET',
      'EARSHOT_URL',
      'EARSHOT_USER_TOKEN',
      'BENCH_FULL',
      'BENCH_PEERS',
      'BENCH_SESSIONS',
      'BENCH_MS',
      // Of the runtime, of a client, and an error of the driver.
      'NODE_EXTRA_CA_CERTS',
      'SSL_CERT_FILE',
      'AWS_CA_BUNDLE',
      'TLS_NOT_OFFERED',
    ])
    const unknown = problems(({ text }) =>
      [...prose(text).matchAll(/`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=[^`]*)?`/g)]
        .map(([, name = '']) => name)
        .filter((name) => !(name in SETTINGS) && !other.has(name)),
    )
    expect(unknown).toEqual([])
  })

  test('docs/operating.md has every metric, and no other', () => {
    const documented = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8').matchAll(/^\| `(earshot_\w+)/gm)
    const declared = [...new Bun.Glob('src/**/*.ts').scanSync({ cwd: ROOT })].flatMap((path) =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(/\bname: '(earshot_\w+)'/g)].map(
        ([, name]) => name,
      ),
    )
    expect(new Set([...documented].map(([, name]) => name))).toEqual(new Set(declared))
  })

  test('README.md has 700 words at most', () => {
    const words = readFileSync(join(ROOT, 'README.md'), 'utf8').split(/\s+/).filter(Boolean)
    expect(words.length).toBeLessThanOrEqual(700)
  })

  test('figures of docs/compared.md stand in bench/README.md', () => {
    const [comparison = '', bench = ''] = ['docs/compared.md', 'bench/README.md'].map((path) =>
      readFileSync(join(ROOT, path), 'utf8'),
    )
    const figures = comparison.match(/\b\d+[.,]\d+\b/g) ?? []
    expect(figures.length).toBeGreaterThan(2)
    // What a reader could look up must be there, digit by digit; numbers of keys are written without a comma there.
    const plain = bench.replaceAll(',', '')
    expect(figures.filter((figure) => !plain.includes(figure.replaceAll(',', '')))).toEqual([])
  })

  test('docs/architecture.md has every folder of src', () => {
    const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
    const groups = ['access', 'analysis', 'hear', 'calls', 'understand', 'tell']
    const folders = ['*', `{${groups.join(',')}}/*`]
      .flatMap((glob) => [...new Bun.Glob(`src/${glob}`).scanSync({ cwd: ROOT, onlyFiles: false })])
      .filter((path) => !path.includes('.') && !groups.some((group) => path === `src/${group}`))
    expect(folders.length).toBeGreaterThan(40)
    expect(folders.filter((folder) => !page.includes(`| \`${folder}\` |`))).toEqual([])
    expect(groups.filter((group) => !page.includes(`\`src/${group}`))).toEqual([])
  })
})

/** A word in code quotes that names a file or folder of the repository. */
function isPath(code: string): boolean {
  return (
    /^(?:src|tests|docs|sql|scripts|bench|workers|patches|content|examples)\/[\w./*-]+$/.test(code) ||
    /^[\w.-]+(?:\/[\w.-]+)*\.(?:ts|md|sql)$/.test(code)
  )
}

/** From the root, from the page's folder, from `src`, or, a bare file name, anywhere in the tree. */
function existsAnywhere(code: string, folder: string): boolean {
  const roots = ['.', folder, 'src', 'tests']
  if (roots.some((root) => existsSync(join(ROOT, root, code)))) return true
  const pattern = code.includes('/') ? code : `{src,tests,scripts,sql,bench,workers,docs}/**/${code}`
  return !new Bun.Glob(pattern).scanSync({ cwd: ROOT }).next().done
}
