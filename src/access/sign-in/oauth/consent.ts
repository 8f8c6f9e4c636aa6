/** The page on which a user allows an OAuth client to act for them. Pure. */
import { html, type Page } from '../html.ts'
import { hidden } from '../pages.ts'
import { describeRedirect } from './metadata.rules.ts'

export interface ConsentRequest {
  readonly email: string
  /** As the client calls itself; null if it has no name. */
  readonly clientName: string | null
  readonly clientId: string
  readonly redirectUri: string
  readonly scopes: readonly string[]
  readonly csrfToken: string
  /** Where the form goes. */
  readonly action: string
}

const MEANINGS: Readonly<Record<string, string>> = {
  'tools:read': 'Read what you can read: conversations, feedback, recordings, people',
  'tools:write': 'Change what you can change: create projects, upload sessions of coding agents',
}

export function consentPage(request: ConsentRequest): Page {
  const { email, clientName, clientId, redirectUri, scopes, csrfToken, action } = request
  const meanings = scopes.flatMap((scope) => MEANINGS[scope] ?? []).map((text) => html`<li>${text}</li>`)
  const identity = clientId.startsWith('https://') ? html`<p>Its id is <code>${clientId}</code>.</p>` : null
  return {
    status: 200,
    title: `Allow ${clientName ?? 'an application'}?`,
    body: html`<p><strong dir="auto">${clientName ?? 'An application without a name'}</strong> wants to act for you
        (<strong>${email}</strong>). Anybody can choose such a name.</p>
      ${identity}
      <p>The access goes to <strong>${describeRedirect(redirectUri)}</strong>.</p>
      <ul>${meanings}</ul>
      <form method="post" action="${action}">
        ${hidden('csrf_token', csrfToken)}
        <button name="decision" value="allow">Allow</button>
        <button name="decision" value="deny" class="quiet">Deny</button>
      </form>`,
    // Browsers apply the policy to redirects of the form, too.
    formTargets: formTarget(redirectUri),
  }
}

/** `https://host:port`, or the scheme of a program. */
function formTarget(redirectUri: string): string {
  const { protocol, origin } = new URL(redirectUri)
  return protocol === 'http:' || protocol === 'https:' ? origin : protocol
}
