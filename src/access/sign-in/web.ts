/**
 * The sign-in pages: server-rendered, without scripts.
 *
 * A link in a mail is opened by mail scanners, too. So GET shows a page that asks, and only its form uses the link.
 */
import { Elysia } from 'elysia'
import { queryOf } from '../../http/address.ts'
import { mailBaseUrl } from '../../http/base-url.ts'
import type { BodyBudget } from '../../http/body-budget.ts'
import { clearSessionCookie, readCookie, setCookie } from '../../http/session-cookie.ts'
import type { Deps } from '../../kernel/deps.ts'
import { AppError } from '../../platform/errors.ts'
import { methodNotAllowed } from '../../platform/net/methods.ts'
import { toOperatorServers } from '../../platform/net/operator-servers.ts'
import { createSendOutbound } from '../../platform/net/outbound-request.ts'
import { isEmailAddress } from '../../platform/validation/email-address.ts'
import { accountAddress } from '../../platform/validation/user-address.ts'
import type { Identity } from '../identity/service.ts'
import { pageResponse, redirect } from './html.ts'
import { createInvitationLinks } from './invitation-link.ts'
import { answerInvitation, showInvitation } from './invitation-web.ts'
import {
  INVITATION_PATH,
  LINK_PATH,
  OPENID_CALLBACK_PATH,
  OPENID_PATH,
  returnPathOf,
  SIGN_IN_PATH,
} from './link.rules.ts'
import { createOpenId, type OpenId } from './openid.ts'
import { finishOpenId, startOpenId } from './openid-web.ts'
import css from './page.css' with { type: 'text' }
import { createPageRoutes, type PageRequest } from './page-request.ts'
import { confirmLinkPage, mailSentPage, signedInPage, signInPage, usedLinkPage } from './pages.ts'
import type { SignIn } from './service.ts'
import { startSession } from './start-session.ts'

type PageIdentity = Pick<
  Identity,
  | 'acceptInvitation'
  | 'admitUser'
  | 'createSession'
  | 'declineInvitation'
  | 'endSession'
  | 'findInvitation'
  | 'findUserAnywhere'
  | 'listSessions'
  | 'personBySession'
  | 'useLink'
  | 'userOfLink'
>

export interface SignInPagesDeps
  extends Pick<Deps, 'config' | 'redis' | 'clock' | 'log' | 'errors' | 'outbound'> {
  readonly bodies: BodyBudget
  readonly identity: PageIdentity
  readonly signIn: SignIn
}

const HIDDEN = { parse: 'none', detail: { hide: true } } as const

/** Everything under `/sign-in`. */
export function signInPages(deps: SignInPagesDeps) {
  const page = createPageRoutes(deps)
  const app = new Elysia({ name: 'sign-in', normalize: false })
  const get = (path: string, handle: (pageRequest: PageRequest) => Promise<Response>) =>
    app.get(path, page(handle), HIDDEN)
  const post = (path: string, handle: (pageRequest: PageRequest) => Promise<Response>) =>
    app.post(path, page(handle), HIDDEN)

  get(SIGN_IN_PATH, (pageRequest) => showSignIn(deps, pageRequest))
  get(LINK_PATH, (pageRequest) => showLink(deps, pageRequest))
  post(LINK_PATH, (pageRequest) => useLink(deps, pageRequest))
  const invitations = { ...deps, links: createInvitationLinks(deps.config) }
  get(INVITATION_PATH, (pageRequest) => showInvitation(invitations, pageRequest))
  post(INVITATION_PATH, (pageRequest) => answerInvitation(invitations, pageRequest))
  const openId = { ...deps, openId: openIdOf(deps) }
  get(OPENID_PATH, (pageRequest) => startOpenId(openId, pageRequest))
  get(OPENID_CALLBACK_PATH, (pageRequest) => finishOpenId(openId, pageRequest))
  post(`${SIGN_IN_PATH}/mail`, (pageRequest) => requestMail(deps, pageRequest))
  post(`${SIGN_IN_PATH}/out`, (pageRequest) => signOut(deps, pageRequest))
  post(`${SIGN_IN_PATH}/sessions/end`, (pageRequest) => endSession(deps, pageRequest))
  app.get(`${SIGN_IN_PATH}/style.css`, () => new Response(css, { headers: STYLE_HEADERS }), HIDDEN)
  for (const [path, allow] of METHODS)
    app.all(
      path,
      ({ request }) => {
        throw methodNotAllowed(request.method, allow)
      },
      HIDDEN,
    )
  return app
}

function openIdOf({ config, outbound, log }: SignInPagesDeps): OpenId | null {
  return config.openId === null
    ? null
    : createOpenId(config.openId, createSendOutbound(toOperatorServers(outbound)), log)
}

const STYLE_HEADERS = { 'content-type': 'text/css; charset=utf-8', 'x-content-type-options': 'nosniff' }

const METHODS = [
  [SIGN_IN_PATH, 'GET, HEAD'],
  [LINK_PATH, 'GET, HEAD, POST'],
  [INVITATION_PATH, 'GET, HEAD, POST'],
  [OPENID_PATH, 'GET, HEAD'],
  [OPENID_CALLBACK_PATH, 'GET, HEAD'],
  [`${SIGN_IN_PATH}/mail`, 'POST'],
  [`${SIGN_IN_PATH}/out`, 'POST'],
  [`${SIGN_IN_PATH}/sessions/end`, 'POST'],
  [`${SIGN_IN_PATH}/style.css`, 'GET, HEAD'],
] as const

/** Where the browser goes after it has signed in with the link of a mail. */
const WAY_COOKIE = 'earshot-way'
const WAY_SECONDS = 15 * 60

const NO_MAIL =
  'The operator has not set PUBLIC_BASE_URL, so this service cannot send links by mail. Ask the operator for a link.'

async function showSignIn(
  { config, identity }: SignInPagesDeps,
  pageRequest: PageRequest,
): Promise<Response> {
  const { request, prefix } = pageRequest
  const returnPath = returnPathOf(queryOf(request).get('to'))
  const visitor = await pageRequest.visitor()
  if (visitor === null) {
    const noMail = mailBaseUrl(config.publicBaseUrl, pageRequest.baseUrl) === null ? NO_MAIL : null
    return pageResponse(signInPage({ prefix, returnPath, noMail, hasOpenId: config.openId !== null }), prefix)
  }
  if (returnPath !== SIGN_IN_PATH) return redirect(`${pageRequest.baseUrl}${returnPath}`)
  const [user, sessions] = await Promise.all([
    identity.findUserAnywhere(visitor.userId),
    identity.listSessions(visitor.userId),
  ])
  return pageResponse(signedInPage({ prefix, email: user?.email ?? '', ...visitor, sessions }), prefix)
}

async function requestMail({ config, signIn }: SignInPagesDeps, pageRequest: PageRequest): Promise<Response> {
  const fields = await pageRequest.form()
  await pageRequest.countAttempt()
  const baseUrl = mailBaseUrl(config.publicBaseUrl, pageRequest.baseUrl)
  if (baseUrl === null) throw new AppError('unavailable', NO_MAIL)
  const email = accountAddress(fields.get('email') ?? '') ?? ''
  if (!isEmailAddress(email)) throw new AppError('validation_failed', 'Enter an e-mail address.')
  await signIn.requestMail({ email, baseUrl })
  // A stranger may ask for the mail, so the browser that asked keeps the way, not the mail.
  const way = Buffer.from(returnPathOf(fields.get('to'))).toString('base64url')
  const cookies = [setCookie(pageRequest.request, config, WAY_COOKIE, way, WAY_SECONDS)]
  return pageResponse({ ...mailSentPage(config.mail.smtpUrl !== null), cookies }, pageRequest.prefix)
}

/** The page after the sign-in: of the link, or that which this browser came from when it asked for the mail. */
function wayOf({ request }: PageRequest, config: SignInPagesDeps['config']): string {
  const ofLink = returnPathOf(queryOf(request).get('to'))
  if (ofLink !== SIGN_IN_PATH) return ofLink
  return returnPathOf(Buffer.from(readCookie(request, config, WAY_COOKIE) ?? '', 'base64url').toString())
}

async function showLink({ config, identity }: SignInPagesDeps, pageRequest: PageRequest): Promise<Response> {
  const { prefix, request } = pageRequest
  const query = queryOf(request)
  const token = query.get('token') ?? ''
  const user = await identity.userOfLink(token)
  if (user === null) {
    await pageRequest.countAttempt()
    return pageResponse(usedLinkPage(pageRequest), prefix)
  }
  const returnPath = wayOf(pageRequest, config)
  return pageResponse(confirmLinkPage({ prefix, email: user.email, token, returnPath }), prefix)
}

async function useLink(deps: SignInPagesDeps, pageRequest: PageRequest): Promise<Response> {
  const fields = await pageRequest.form()
  const userId = await deps.identity.useLink(fields.get('token') ?? '')
  if (userId === null) {
    await pageRequest.countAttempt()
    return pageResponse(usedLinkPage(pageRequest), pageRequest.prefix)
  }
  const hasWay = readCookie(pageRequest.request, deps.config, WAY_COOKIE) !== null
  const cookies = hasWay ? [setCookie(pageRequest.request, deps.config, WAY_COOKIE, '', 0)] : []
  return startSession(deps, pageRequest, userId, returnPathOf(fields.get('to')), cookies)
}

async function signOut({ config, identity }: SignInPagesDeps, pageRequest: PageRequest): Promise<Response> {
  const { visitor } = await pageRequest.ownForm()
  await identity.endSession(visitor.userId, visitor.sessionId)
  return redirect(`${pageRequest.baseUrl}${SIGN_IN_PATH}`, [clearSessionCookie(pageRequest.request, config)])
}

async function endSession({ identity }: SignInPagesDeps, pageRequest: PageRequest): Promise<Response> {
  const { visitor, fields } = await pageRequest.ownForm()
  await identity.endSession(visitor.userId, fields.get('id') ?? '')
  return redirect(`${pageRequest.baseUrl}${SIGN_IN_PATH}`)
}
