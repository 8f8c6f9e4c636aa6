/**
 * Reads a page of the website from a Markdown file: front matter with title, description and order, then the text. Pure.
 */

/** One page. `markdown` does not include the front matter. */
export interface Page {
  /** The file name without `.md`, and the last part of the page's address. */
  readonly slug: string
  readonly title: string
  readonly description: string
  readonly markdown: string
}

/** A file of the content folder. `name` does not include the folder. */
export interface PageFile {
  readonly name: string
  readonly source: string
}

const FILE_NAME = /^([a-z0-9]+(?:-[a-z0-9]+)*)\.md$/
const FRONT_MATTER = /^---\n([\s\S]*?)\n---(?:\n|$)/
/** `name: text` on one line, which every program that reads front matter understands. */
const MEMBER = /^([a-z]+):[ \t]+(\S.*)$/
const ORDER = /^\d{1,6}$/
const LAST = 1_000_000

/**
 * The pages by their `order`, then by slug. Pages without `order` come last.
 * @throws PageError for the first file that is not a valid page
 */
export function readPages(files: readonly PageFile[]): readonly Page[] {
  return files
    .map(readPage)
    .sort((a, b) => a.order - b.order || (a.page.slug < b.page.slug ? -1 : 1))
    .map(({ page }) => page)
}

/** The message names the file and its mistake on one line. */
export class PageError extends Error {
  override readonly name = 'PageError'
}

function readPage({ name, source }: PageFile): { readonly page: Page; readonly order: number } {
  const slug = FILE_NAME.exec(name)?.[1]
  if (slug === undefined) throw new PageError(`${name} must be named in lower case, such as first-steps.md`)
  const text = source.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  const frontMatter = FRONT_MATTER.exec(text)
  if (frontMatter === null)
    throw new PageError(`${name} must begin with front matter between two lines of ---`)
  const members = readMembers(name, frontMatter[1] ?? '')
  const required = (member: string) => {
    const value = members.get(member)
    if (value === undefined) throw new PageError(`${name} must have a ${member} in its front matter`)
    return value
  }
  const order = members.get('order')
  if (order !== undefined && !ORDER.test(order))
    throw new PageError(`${name} must have a whole number as order`)
  return {
    page: {
      slug,
      title: required('title'),
      description: required('description'),
      markdown: text.slice(frontMatter[0].length).trim(),
    },
    order: order === undefined ? LAST : Number(order),
  }
}

function readMembers(file: string, frontMatter: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>()
  for (const line of frontMatter.split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [, name, value] = MEMBER.exec(line) ?? []
    if (name === undefined || value === undefined)
      throw new PageError(`${file} has a line in its front matter that is not "name: text"`)
    members.set(name, unquoted(value.trimEnd()))
  }
  return members
}

/** YAML requires quotes around a text with a colon. They do not belong to the text. */
function unquoted(value: string): string {
  return /^"[^"\\]*"$|^'[^']*'$/.test(value) ? value.slice(1, -1) : value
}
