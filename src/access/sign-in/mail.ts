/** The mails with a sign-in link and with an invitation. */
import type { Role } from '../../kernel/roles.rules.ts'
import type { Mail } from '../../platform/mail/mail.ts'
import { fillHtml, fillText } from '../../platform/mail/template.ts'
import invitationHtml from './mail/invitation.html.mustache' with { type: 'text' }
import invitationText from './mail/invitation.txt' with { type: 'text' }
import linkHtml from './mail/link.html.mustache' with { type: 'text' }
import linkText from './mail/link.txt' with { type: 'text' }

export const linkMail = (
  requestId: string,
  user: { readonly id: string; readonly email: string },
  url: string,
): Mail => ({
  ...mailOf(`sign-in.${requestId}`, user.email, { text: linkText, html: linkHtml }, { url }),
  owner: user.id,
})

/** The name is chosen by strangers: it is short and on one line. */
const MAX_SHOWN_NAME = 60
const PLAIN: Readonly<Record<Role, string>> = {
  viewer: 'a viewer',
  analyst: 'an analyst',
  administrator: 'an administrator',
}

export function invitationMail(invitation: {
  readonly id: string
  readonly organizationId: string
  readonly to: string
  readonly organizationName: string
  readonly role: Role
  readonly url: string
}): Mail {
  const { id, organizationId, to, organizationName, role, url } = invitation
  const organization = organizationName
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
    .slice(0, MAX_SHOWN_NAME)
  const templates = { text: invitationText, html: invitationHtml }
  const mail = mailOf(`invitation.${id}`, to, templates, { organization, to, role: PLAIN[role], url })
  return { ...mail, owner: organizationId }
}

/** The first line of the text is the subject. */
function mailOf(
  id: string,
  to: string,
  templates: { readonly text: string; readonly html: string },
  values: Readonly<Record<string, string>>,
): Mail {
  const [subject = '', ...paragraphs] = templates.text.trim().split(/\n{2,}/)
  const text = fillText(paragraphs.join('\n\n'), values)
  return { id, to, subject, text, html: fillHtml(templates.html, values) }
}
