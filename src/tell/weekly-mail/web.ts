/**
 * The page behind the link that ends a weekly mail, without a sign-in and without scripts.
 *
 * Mail scanners open links, so GET only asks. POST ends the mail: it comes from the page, or from a mail program in one click (RFC 8058),
 * which sends no cookies. The token in the address is all that counts; the body is not read.
 */
import { Elysia } from 'elysia'
import { html, pageResponse } from '../../access/sign-in/html.ts'
import { queryOf } from '../../http/address.ts'
import type { Config } from '../../kernel/config.ts'
import { methodNotAllowed } from '../../platform/net/methods.ts'
import type { WeeklyMails } from './service.ts'
import { UNSUBSCRIBE_PATH } from './unsubscribe.ts'

const HIDDEN = { parse: 'none', detail: { hide: true } } as const

export function unsubscribePages({
  config,
  weeklyMails,
}: {
  readonly config: Pick<Config, 'publicBaseUrl'>
  readonly weeklyMails: Pick<WeeklyMails, 'readLink' | 'end'>
}) {
  const prefix =
    config.publicBaseUrl === null ? '' : new URL(config.publicBaseUrl).pathname.replace(/\/$/, '')
  const tokenOf = (request: Request) => queryOf(request).get('token') ?? ''
  const unusable = () =>
    pageResponse(
      {
        status: 404,
        title: 'This link does not work',
        body: html`<p>The link is incomplete, or it is not of this service.</p>`,
      },
      prefix,
    )
  return new Elysia({ name: 'unsubscribe', normalize: false })
    .get(
      UNSUBSCRIBE_PATH,
      async ({ request }) => {
        const token = tokenOf(request)
        if ((await weeklyMails.readLink(token)) === null) return unusable()
        const action = `${prefix}${UNSUBSCRIBE_PATH}?${new URLSearchParams({ token })}`
        const body = html`<form method="post" action="${action}"><button>End the weekly mail</button></form>`
        return pageResponse({ status: 200, title: 'End the weekly mail?', body }, prefix)
      },
      HIDDEN,
    )
    .post(
      UNSUBSCRIBE_PATH,
      async ({ request }) => {
        const wish = await weeklyMails.readLink(tokenOf(request))
        if (wish === null) return unusable()
        await weeklyMails.end(wish)
        const body = html`<p>You get no weekly mail any more.</p>`
        return pageResponse({ status: 200, title: 'The weekly mail has ended', body }, prefix)
      },
      HIDDEN,
    )
    .all(
      UNSUBSCRIBE_PATH,
      ({ request }) => {
        throw methodNotAllowed(request.method, 'GET, HEAD, POST')
      },
      HIDDEN,
    )
}
