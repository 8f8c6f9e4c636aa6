/**
 * The pages of the website: the embedded ones, or those of the folder `CONTENT_DIR` in their place.
 *
 * The rule: pages are read once, when the HTTP interface is put together. A page that cannot be read ends the start with a line
 * that names it, and no request ever waits for a disk.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { oneLine, StartError } from '../platform/lifecycle/start-error.ts'
import { EMBEDDED } from './embedded.ts'
import { type Page, PageError, type PageFile, readPages } from './page.rules.ts'

export interface Content {
  /** In the order of the list. The first call reads them. @throws StartError where `CONTENT_DIR` has no usable pages */
  pages(): readonly Page[]
  /** Null where there is no such page. */
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
