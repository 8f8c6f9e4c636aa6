/** The fenced blocks of a Markdown page. */

export interface CodeBlock {
  /** The first word of the info string, such as `sh`. */
  readonly language: string
  /** The other words of it, such as `retry`. */
  readonly marks: readonly string[]
  readonly text: string
  /** Number of its first line, from 1. */
  readonly line: number
}

/** Every fenced block in order. @throws Error where a block is not closed */
export function codeBlocksOf(markdown: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = []
  let open: { readonly info: string; readonly line: number; readonly lines: string[] } | null = null
  for (const [index, line] of markdown.split('\n').entries()) {
    const info = /^```(.*)$/.exec(line)?.[1]
    if (open === null) {
      if (info !== undefined) open = { info, line: index + 1, lines: [] }
    } else if (info === undefined) {
      open.lines.push(line)
    } else {
      const [language = '', ...marks] = open.info.trim().split(/\s+/)
      blocks.push({ language, marks, text: open.lines.join('\n'), line: open.line })
      open = null
    }
  }
  if (open !== null) throw new Error(`the block of line ${open.line} is not closed`)
  return blocks
}

export interface Snippet {
  readonly line: number
  readonly text: string
  /** Run it again until the output is as shown: it reads what a worker does in the background. */
  readonly retry: boolean
  /** The request in it is refused on purpose. */
  readonly refused: boolean
  /** The output that the page shows behind it. */
  readonly output: CodeBlock | null
}

/** What a test runs: `sh` blocks without `no-run` and `service`, each with the `output` block behind it. */
export function snippetsOf(blocks: readonly CodeBlock[]): readonly Snippet[] {
  return blocks.flatMap((block, index) => {
    if (!isRun(block)) return []
    const next = blocks[index + 1]
    return [
      {
        line: block.line,
        text: block.text,
        retry: block.marks.includes('retry'),
        refused: block.marks.includes('refused'),
        output: next?.marks.includes('output') ? next : null,
      },
    ]
  })
}

/** What starts the service. A test starts it once for all pages. */
export const isService = ({ language, marks }: CodeBlock) => language === 'sh' && marks.includes('service')

const isRun = (block: CodeBlock) =>
  block.language === 'sh' && !block.marks.includes('no-run') && !isService(block)

/** Members whose values a reader copies into a program: they are the same in every run. */
const FIXED = new Set(['code', 'error', 'status', 'phase'])

/**
 * What the output must have of the one that is shown: of JSON the name of each member, and of some its value, of text the first word
 * of each line. Other values differ from run to run.
 */
export function wordsOf(shown: CodeBlock): readonly string[] {
  if (shown.language === 'json')
    return [...withoutSpace(shown.text).matchAll(/"(\w+)":("[^"]*")?/g)].map(([, name = '', value = '']) =>
      FIXED.has(name) ? `"${name}":${value}` : `"${name}"`,
    )
  return shown.text.split('\n').flatMap((line) => line.trim().split(/\s+/)[0] || [])
}

/** JSON without the spaces that `jq` puts behind names. */
export const withoutSpace = (output: string) => output.replace(/":\s+/g, '":')
