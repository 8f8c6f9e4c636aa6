/** The fenced blocks of a Markdown page. */

export interface Fence {
  /** The first word of the info string, such as `sh`. */
  readonly language: string
  /** The other words of it, such as `retry`. */
  readonly marks: readonly string[]
  readonly text: string
  /** Line of the opening fence, from 1. */
  readonly line: number
}

/** Every fenced block in order. @throws Error where a block is not closed */
export function fencesOf(markdown: string): readonly Fence[] {
  const fences: Fence[] = []
  let open: { readonly info: string; readonly line: number; readonly lines: string[] } | null = null
  for (const [index, line] of markdown.split('\n').entries()) {
    const info = /^```(.*)$/.exec(line)?.[1]
    if (open === null) {
      if (info !== undefined) open = { info, line: index + 1, lines: [] }
    } else if (info === undefined) {
      open.lines.push(line)
    } else {
      const [language = '', ...marks] = open.info.trim().split(/\s+/)
      fences.push({ language, marks, text: open.lines.join('\n'), line: open.line })
      open = null
    }
  }
  if (open !== null) throw new Error(`the block of line ${open.line} is not closed`)
  return fences
}

export interface Snippet {
  readonly line: number
  readonly text: string
  /** Run it again until the output is as shown: it reads what a worker does in the background. */
  readonly retry: boolean
  /** The request in it is refused on purpose. */
  readonly refused: boolean
  /** The output that the page shows behind it. */
  readonly output: Fence | null
}

/** What a test runs: `sh` blocks without `no-run` and `service`, each with the `output` block behind it. */
export function snippetsOf(fences: readonly Fence[]): readonly Snippet[] {
  return fences.flatMap((fence, index) => {
    if (!isRun(fence)) return []
    const next = fences[index + 1]
    return [
      {
        line: fence.line,
        text: fence.text,
        retry: fence.marks.includes('retry'),
        refused: fence.marks.includes('refused'),
        output: next?.marks.includes('output') ? next : null,
      },
    ]
  })
}

/** What starts the service. A test starts it once for all pages. */
export const isService = ({ language, marks }: Fence) => language === 'sh' && marks.includes('service')

const isRun = (fence: Fence) =>
  fence.language === 'sh' && !fence.marks.includes('no-run') && !isService(fence)

/**
 * What the output must have of the one that is shown: of JSON the name of each member, of text the first word of each line.
 * Values differ from run to run.
 */
export function wordsOf(shown: Fence): readonly string[] {
  if (shown.language === 'json') return [...shown.text.matchAll(/"\w+"(?=\s*:)/g)].map(([name]) => name)
  return shown.text.split('\n').flatMap((line) => line.trim().split(/\s+/)[0] || [])
}
