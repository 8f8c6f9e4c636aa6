/**
 * The website's pages: the embedded ones, or those in the folder `CONTENT_DIR` instead.
 *
 * Pages are read once, when the HTTP interface is set up, so that no request waits for a disk. An unreadable page ends the
 * start with a line that names it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../kernel/config.ts'
import { oneLine, StartError } from '../../platform/lifecycle/start-error.ts'
import { EMBEDDED } from './embedded.ts'
import { type Page, PageError, type PageFile, readPages } from './page.rules.ts'

export interface Content {
  /** In list order. The first call reads the files. @throws StartError if `CONTENT_DIR` has no usable pages */
  pages(): readonly Page[]
  /** Null if there is no such page. */
  find(slug: string): Page | null
}

export function createContent({ config }: { readonly config: Pick<Config, 'contentDir'> }): Content {
  let read: ReadonlyMap<string, Page> | null = null
  const bySlug = () => {
    read ??= new Map(load(config.contentDir).map((page) => [page.slug, page]))
    return read
  }
  return {
    pages: () => [...bySlug().values()],
    find: (slug) => bySlug().get(slug) ?? null,
  }
}

function load(folder: string | null): readonly Page[] {
  if (folder === null) return readPages(EMBEDDED)
  try {
    const pages = readPages(readFolder(folder))
    if (pages.length === 0) throw new PageError('it has no files that end with .md')
    return pages
  } catch (error) {
    const allowed = 'it must be a folder of Markdown files with front matter'
    throw new StartError(`CONTENT_DIR is ${JSON.stringify(folder)}, but ${allowed}: ${oneLine(error)}`)
  }
}

function readFolder(folder: string): readonly PageFile[] {
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => ({ name, source: utf8.decode(readFileSync(join(folder, name))) }))
}
