/** Runs the commands of README.md and docs unchanged and in order, against a real service. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { eventually } from '../support/eventually.ts'
import { EARSHOT } from '../support/executable.ts'
import { type Service, useServices } from '../support/process.ts'
import {
  codeBlocksOf,
  isService,
  type Snippet,
  snippetsOf,
  withoutSpace,
  wordsOf,
} from './support/code-blocks.ts'
import { createTree, environmentOf, openShell, type Shell } from './support/shell.ts'

setDefaultTimeout(240_000)

const ROOT = resolve(import.meta.dir, '../..')
const RETRY_MS = 100_000
const PAGES = ['README.md', 'CONTRIBUTING.md', ...new Bun.Glob('docs/**/*.md').scanSync({ cwd: ROOT })].sort()

/** Blocks by page. What is not run: pictures, blocks marked `no-run`, and the start of the service, which is run once for all. */
const COUNTS = {
  'README.md': { run: 2, notRun: 3 },
  'CONTRIBUTING.md': { run: 0, notRun: 1 },
  'docs/api.md': { run: 1, notRun: 0 },
  'docs/architecture.md': { run: 0, notRun: 1 },
  'docs/administration.md': { run: 3, notRun: 0 },
  'docs/backup.md': { run: 0, notRun: 1 },
  'docs/coding-agents.md': { run: 5, notRun: 5 },
  'docs/counts.md': { run: 1, notRun: 0 },
  'docs/digest.md': { run: 2, notRun: 0 },
  'docs/importing.md': { run: 2, notRun: 1 },
  'docs/feedback.md': { run: 4, notRun: 0 },
  'docs/getting-started.md': { run: 9, notRun: 3 },
  'docs/ingest.md': { run: 4, notRun: 0 },
  'docs/insight.md': { run: 3, notRun: 0 },
  'docs/meetings.md': { run: 0, notRun: 1 },
  'docs/opentelemetry.md': { run: 1, notRun: 1 },
  'docs/operating.md': { run: 2, notRun: 2 },
  'docs/people.md': { run: 2, notRun: 0 },
  'docs/privacy.md': { run: 1, notRun: 0 },
  'docs/recorders.md': { run: 0, notRun: 1 },
  'docs/sdk-typescript.md': { run: 0, notRun: 3 },
  'docs/sdk-python.md': { run: 0, notRun: 3 },
  'docs/search.md': { run: 2, notRun: 0 },
  'docs/self-hosting.md': { run: 1, notRun: 9 },
  'docs/sign-in.md': { run: 2, notRun: 1 },
  'docs/stream.md': { run: 1, notRun: 1 },
  'docs/themes.md': { run: 1, notRun: 0 },
  'docs/transcription.md': { run: 2, notRun: 1 },
  'docs/uploads.md': { run: 2, notRun: 2 },
  'docs/users-and-tokens.md': { run: 1, notRun: 0 },
  'docs/webhooks.md': { run: 0, notRun: 3 },
  'docs/website-forms.md': { run: 2, notRun: 0 },
  'docs/widget.md': { run: 1, notRun: 1 },
}

const pages = PAGES.map((path) => ({ path, blocks: codeBlocksOf(readFileSync(join(ROOT, path), 'utf8')) }))
const starts = pages.flatMap(({ blocks }) => blocks.filter(isService))

describe('snippets', () => {
  let service: Service | undefined
  const tree = () => join(services.folder, 'earshot')
  afterAll(async () => {
    await service?.kill()
    // Commands used the embedded servers last, which would otherwise wait for another one.
    const stop = [...EARSHOT, 'servers', 'stop']
    const env = environmentOf(services.folder)
    const { stdout } = Bun.spawnSync(stop, { cwd: tree(), env: { ...env, DATA_DIR: join(tree(), '.data') } })
    expect(stdout.toString()).toMatch(/stopped|no embedded server/)
  })
  const services = useServices()
  let port = 0

  beforeAll(async () => {
    await createTree(services.folder)
    service = await services.start({
      command: ['bash', '-c', `cd ${tree()} && exec ${starts[0]?.text}`],
      env: { ...environmentOf(services.folder), DATA_DIR: join(tree(), '.data') },
    })
    port = Number(new URL(service.baseUrl).port)
  }, 240_000)

  test('every page starts the service with the same command', () => {
    expect(starts.length).toBeGreaterThan(1)
    expect(new Set(starts.map(({ text }) => text)).size).toBe(1)
  })

  test('the start prints the banner that is shown', () => {
    const shown = pages.flatMap(({ blocks }) =>
      blocks.flatMap((block, index) => {
        const next = blocks[index + 1]
        return isService(block) && next?.marks.includes('output') ? wordsOf(next) : []
      }),
    )
    expect(shown.length).toBeGreaterThan(5)
    const output = service?.output() ?? ''
    expect(shown.filter((word) => !output.includes(word))).toEqual([])
  })

  test('what is not run is marked, and counted here', () => {
    const counts = pages.map(({ path, blocks }) => {
      const run = snippetsOf(blocks).length
      const shown = blocks.filter(({ marks }) => marks.includes('output')).length
      return [path, { run, notRun: blocks.length - run - shown }] as const
    })
    expect(Object.fromEntries(counts.filter(([, { run, notRun }]) => run + notRun > 0))).toEqual(COUNTS)
  })

  for (const { path, blocks } of pages) {
    const snippets = snippetsOf(blocks)
    if (snippets.length === 0) continue
    describe(path, () => {
      let shell: Shell
      let broken = false
      beforeAll(() => {
        shell = openShell(services.folder, port)
      })
      afterAll(() => shell.end())

      for (const snippet of snippets) {
        test(`line ${snippet.line}: ${snippet.text.split('\n')[0]}`, async () => {
          // What comes behind a broken snippet has nothing to stand on.
          expect(broken, 'a snippet above failed').toBe(false)
          broken = true
          await runSnippet(shell, snippet)
          broken = false
        })
      }
    })
  }
})

/** Runs it, again until the output is as shown where it may, and compares. */
async function runSnippet(shell: Shell, snippet: Snippet): Promise<void> {
  const expected = snippet.output === null ? [] : wordsOf(snippet.output)
  const missing = (output: string) => {
    const found = withoutSpace(output)
    return expected.filter((word) => !found.includes(word))
  }
  let last = await shell.run(snippet.text)
  const isRight = () => (last.code === 0 || snippet.refused) && missing(last.output).length === 0
  if (snippet.retry && !isRight()) {
    const again = async () => {
      last = await shell.run(snippet.text)
      return isRight()
    }
    await eventually(again, { deadlineMs: RETRY_MS }).catch(() => {})
  }
  expect({ ...last, missing: missing(last.output) }).toEqual({
    code: snippet.refused ? last.code : 0,
    output: last.output,
    missing: [],
  })
}
