/** Operations on the website's pages. */
import { Type } from '@sinclair/typebox'
import { ok } from '../../http/operation.ts'
import { type WebsiteOperation, websiteOperation } from '../../http/website-operation.ts'
import { AppError } from '../../platform/errors.ts'
import { CONTENT, PageBody, PageList } from './model.ts'
import type { Content } from './service.ts'

/** `GET /api/content` and `GET /api/content/{slug}`. */
export function contentOperations(content: Content): readonly WebsiteOperation[] {
  return [listContent(content), getContent(content)]
}

const listContent = (content: Content) =>
  websiteOperation({
    id: 'listContent',
    method: 'GET',
    path: CONTENT,
    limit: 'reads',
    summary: 'List the pages of the website',
    description: 'All pages, without their text.',
    query: Type.Object({}),
    success: { status: 200, description: 'All pages, without their text', schema: PageList },
    async handler({ query }) {
      query()
      return ok({
        data: content.pages().map(({ slug, title, description }) => ({ slug, title, description })),
      })
    },
  })

const getContent = (content: Content) =>
  websiteOperation({
    id: 'getContent',
    method: 'GET',
    path: `${CONTENT}/{slug}`,
    params: { slug: Type.String({ description: 'The `slug` of the page in the list of pages.' }) },
    limit: 'reads',
    summary: 'Read a page of the website',
    description: 'One page with its text.',
    query: Type.Object({}),
    success: { status: 200, description: 'The page', schema: PageBody },
    errors: ['page_not_found'],
    async handler({ param, query }) {
      const page = content.find(param('slug'))
      if (page === null) throw new AppError('page_not_found', 'There is no such page.')
      query()
      return ok(page)
    },
  })
