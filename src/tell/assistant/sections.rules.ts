/** Splits a page of Markdown into sections, one for each heading, as plain text. Pure. */
import { trimOf } from '../../platform/validation/trim.ts'

export interface Section {
  readonly slug: string
  /** Title of the page. */
  readonly title: string
  /** The heading, or the page's title for text before the first heading. */
  readonly heading: string
  /** Paragraphs, list items and lines of code, one a line. */
  readonly text: string
}

const HEADING = /^#{1,6}[ \t]/
const FENCE = /^[ \t]*(?:```|~~~)/
/** Quotation marks, bullets and numbers at the start of a line. */
const MARKER = /^[ \t]*(?:>[ \t]?|[-*+][ \t]+|\d{1,9}[.)][ \t]+)*/
const STARTS_BLOCK = /^[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]|\|)/
/** The line between head and body of a table, or a horizontal rule. */
const RULE = /^[ \t|:*_-]+$/

/** Omits sections without text. */
export function toSections(page: {
  readonly slug: string
  readonly title: string
  readonly markdown: string
}): readonly Section[] {
  const sections: { heading: string; lines: string[] }[] = [{ heading: page.title, lines: [] }]
  let inCode = false
  let continues = false
  for (const line of page.markdown.split('\n')) {
    if (FENCE.test(line)) {
      inCode = !inCode
      continues = false
      continue
    }
    if (!inCode && HEADING.test(line)) {
      sections.push({ heading: plain(trimOf(line, '#').trim()), lines: [] })
      continues = false
      continue
    }
    const text = inCode ? line.trim() : plain(line)
    const lines = sections.at(-1)!.lines
    if (continues && text !== '' && !inCode && !STARTS_BLOCK.test(line)) lines.push(`${lines.pop()} ${text}`)
    else if (text !== '') lines.push(text)
    continues = text !== '' && !inCode
  }
  return sections
    .filter(({ lines }) => lines.length > 0)
    .map(({ heading, lines }) => ({
      slug: page.slug,
      title: page.title,
      heading,
      text: lines.join('\n'),
    }))
}

/** One line without Markdown syntax. */
function plain(line: string): string {
  if (RULE.test(line)) return ''
  return line
    .replace(MARKER, '')
    .replaceAll(/!?\[([^[\]]*)\]\([^()]*\)/g, '$1')
    .replaceAll(/<((?:https?:|mailto:)[^<>]*)>/g, '$1')
    .replaceAll(/\*\*|__|`/g, '')
    .replaceAll(/(?<![\p{L}\p{N}*])\*(?!\s)|(?<!\s)\*(?![\p{L}\p{N}*])/gu, '')
    .replaceAll('|', ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
