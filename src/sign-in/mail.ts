/** The mail with a sign-in link. */
import type { Mail } from '../platform/mail/mail.ts'
import { fillHtml, fillText } from '../platform/mail/template.ts'
import linkHtml from './mail/link.html.mustache' with { type: 'text' }
import linkText from './mail/link.txt' with { type: 'text' }

/** The first line of the text is the subject. */
export function linkMail(requestId: string, to: string, url: string): Mail {
  const [subject = '', ...paragraphs] = linkText.trim().split(/\n{2,}/)
  return {
    id: `sign-in.${requestId}`,
    to,
    subject,
    text: fillText(paragraphs.join('\n\n'), { url }),
    html: fillHtml(linkHtml, { url }),
  }
}
