/** The bodies of the sign-in pages. Pure. */
import type { UserSession } from '../identity/sessions.ts'
import { type Html, html, type Page } from './html.ts'
import { INVITATION_PATH, LINK_PATH, OPENID_PATH, SIGN_IN_PATH, START_PATH } from './link.rules.ts'

/** The path of `PUBLIC_BASE_URL`, before every link. */
interface Place {
  readonly prefix: string
}

interface SignInOptions extends Place {
  /** Where to go after the sign-in. */
  readonly returnPath: string
  /** Why there is no mail with a link; null where there is. */
  readonly noMail: string | null
  readonly hasOpenId: boolean
}

export function signInPage({ prefix, returnPath, noMail, hasOpenId }: SignInOptions): Page {
  const to = hidden('to', returnPath)
  const openIdHref = `${prefix}${OPENID_PATH}?${new URLSearchParams({ to: returnPath })}`
  const mail = html`<form method="post" action="${prefix}${SIGN_IN_PATH}/mail">
        ${to}
        <label for="email">E-mail address</label>
        <input id="email" name="email" type="email" autocomplete="email" maxlength="254" required>
        <button>Send me a link</button>
      </form>`
  const openId = html`<p><a class="button" href="${openIdHref}">Sign in with your organization’s account</a></p>`
  return {
    status: 200,
    title: 'Sign in to Earshot',
    body: html`${noMail === null ? mail : html`<p>${noMail}</p>`}
      ${hasOpenId ? openId : null}
      <p>The operator of this service can print a link, too: <code>earshot user link</code>.</p>`,
  }
}

/** The same for every address. Without a mail server the operator finds the mail as a file. */
export const mailSentPage = (hasMailServer: boolean): Page => ({
  status: 200,
  title: hasMailServer ? 'Check your email' : 'Ask the operator for the mail',
  body: html`<p>If the address belongs to a user, a mail with a link ${
    hasMailServer
      ? 'is on its way'
      : 'is in the folder mail of the data folder (DATA_DIR), because this service has no mail server (SMTP_URL)'
  }. The link works once, and for 15 minutes.</p>`,
})

/** Asks before the link is used, because programs that check mails open every link in them. */
export function confirmLinkPage(
  options: Place & { readonly email: string; readonly token: string; readonly returnPath: string },
): Page {
  return {
    status: 200,
    title: 'Sign in to Earshot',
    body: html`<form method="post" action="${options.prefix}${LINK_PATH}">
        ${hidden('token', options.token)}
        ${hidden('to', options.returnPath)}
        <p>Sign in as <strong>${options.email}</strong>?</p>
        <button>Sign in</button>
      </form>`,
  }
}

export function usedLinkPage({ prefix }: Place): Page {
  return {
    status: 410,
    title: 'This link does not work any more',
    body: html`<p>A sign-in link works once, and for 15 minutes.</p>
      <p><a href="${prefix}${SIGN_IN_PATH}">Ask for a new one</a></p>`,
  }
}

interface Inviting {
  readonly organizationName: string
}

export function invitationPage(
  options: Place & Inviting & { readonly email: string; readonly role: string; readonly token: string },
): Page {
  const { prefix, organizationName, email, role, token } = options
  return {
    status: 200,
    title: 'Become a member?',
    body: html`<p>An administrator of <strong dir="auto">${organizationName}</strong> added <strong>${email}</strong>, with the role
        <strong>${role}</strong>. Administrators of the organization can act as its members there, with tokens that they issue. They
        see nothing of your other organizations.</p>
      <form method="post" action="${prefix}${INVITATION_PATH}">
        ${hidden('token', token)}
        <button name="answer" value="accept">Accept</button>
        <button name="answer" value="decline" class="quiet">Decline</button>
      </form>`,
  }
}

export function acceptedPage({ prefix, organizationName }: Place & Inviting): Page {
  return {
    status: 200,
    title: 'You are a member',
    body: html`<p>You are a member of <strong dir="auto">${organizationName}</strong>.</p>
      <p><a href="${prefix}${START_PATH}">Open the console</a></p>`,
  }
}

export const declinedPage = ({ organizationName }: Inviting): Page => ({
  status: 200,
  title: 'The invitation has ended',
  body: html`<p>You are no member of <strong dir="auto">${organizationName}</strong>.</p>`,
})

export const endedInvitationPage = ({ prefix }: Place): Page => ({
  status: 410,
  title: 'This link does not work any more',
  body: html`<p>The invitation was answered or withdrawn, or the link is incomplete.</p>
    <p><a href="${prefix}${START_PATH}">Open the console</a></p>`,
})

export function signedInPage(
  options: Place & {
    readonly email: string
    readonly csrfToken: string
    readonly sessionId: string
    readonly sessions: readonly UserSession[]
  },
): Page {
  const csrf = hidden('csrf_token', options.csrfToken)
  const sessionRow = (session: UserSession): Html => {
    const browser = session.userAgent ?? 'An unnamed browser'
    const since = session.createdAt.toISOString().slice(0, 16).replace('T', ' ')
    const end = html`<form class="inline" method="post" action="${options.prefix}${SIGN_IN_PATH}/sessions/end">
            ${csrf}${hidden('id', session.id)}<button class="quiet">End</button>
          </form>`
    return html`<li>${browser}, since ${since} UTC
          ${session.id === options.sessionId ? html`<strong>(this one)</strong>` : end}</li>
        `
  }
  return {
    status: 200,
    title: 'You are signed in',
    body: html`<p>You are signed in as <strong>${options.email}</strong>.</p>
      <p><a href="${options.prefix}${START_PATH}">Open the console</a></p>
      <form method="post" action="${options.prefix}${SIGN_IN_PATH}/out">${csrf}<button>Sign out</button></form>
      <h2>Your sessions</h2>
      <ul>
        ${options.sessions.map(sessionRow)}</ul>`,
  }
}

export function errorPage(status: number, message: string, { prefix }: Place): Page {
  return {
    status,
    title: 'Something went wrong',
    body: html`<p>${message}</p>
      <p><a href="${prefix}${SIGN_IN_PATH}">Back to the sign-in page</a></p>`,
  }
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}
