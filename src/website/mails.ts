/**
 * The mails of a submission: the team's notification with everything that was given, and the sender's confirmation.
 *
 * The rule: a subject is fixed words, and a confirmation has nothing in it that came from the form, or the form could
 * be used to send anybody any words in our name.
 */
import type { Mail } from '../platform/mail/mail.ts'
import { fillHtml, fillText, textAsHtml } from '../platform/mail/template.ts'
import builderWaitlist from './mail/builder-waitlist.txt' with { type: 'text' }
import confirmationText from './mail/confirmation.txt' with { type: 'text' }
import developmentWaitlist from './mail/development-waitlist.txt' with { type: 'text' }
import layout from './mail/layout.html.mustache' with { type: 'text' }
import manifestoDownload from './mail/manifesto-download.txt' with { type: 'text' }
import mobileReminder from './mail/mobile-reminder.txt' with { type: 'text' }
import notificationText from './mail/notification.txt' with { type: 'text' }
import paragraphHtml from './mail/paragraph.html.mustache' with { type: 'text' }
import rowHtml from './mail/row.html.mustache' with { type: 'text' }
import rowsHtml from './mail/rows.html.mustache' with { type: 'text' }
import { FORMS, type Submission } from './model.ts'

/** First line: subject. Then paragraphs, between empty lines. */
const CONFIRMATIONS: Readonly<Record<string, string>> = {
  'builder-waitlist': builderWaitlist,
  'development-waitlist': developmentWaitlist,
  'mobile-reminder': mobileReminder,
  'manifesto-download': manifestoDownload,
}

const TEAM_FOOTER = 'Sent by Earshot, because somebody filled in a form on the website.'
const CONFIRMATION_FOOTER =
  'You receive this because this address was entered in a form on our website. If that was not you, there is nothing to do: ' +
  'please ignore this message.'

/** Whether the sender of the form gets a mail. */
export function isConfirmed(form: string): boolean {
  return Object.hasOwn(CONFIRMATIONS, form)
}

/** What the team gets; answering it answers the sender. */
export function notificationMail(submission: Submission, teamEmail: string): Mail {
  const form = FORMS.find(({ name }) => name === submission.form)
  const title = form?.title ?? 'New submission'
  const rows = rowsOf(submission, form?.body.properties ?? {})
  const htmlRows = rows.map(({ label, value }) => fillHtml(rowHtml, { label, value: textAsHtml(value) }))
  return {
    id: teamMailId(submission.id),
    to: teamEmail,
    replyTo: submission.email,
    subject: title,
    text: fillText(notificationText, { title, rows: rows.map(textRow).join('\n'), footer: TEAM_FOOTER }),
    html: fillHtml(layout, {
      title,
      content: fillHtml(rowsHtml, { rows: htmlRows.join('') }),
      footer: TEAM_FOOTER,
    }),
  }
}

/** What the sender gets. @throws Error for a form that is not confirmed */
export function confirmationMail(submission: Submission): Mail {
  const source = CONFIRMATIONS[submission.form]
  if (source === undefined) throw new Error(`no confirmation for ${submission.form}`)
  const [title = '', ...paragraphs] = source.trim().split(/\n{2,}/)
  const content = paragraphs.map((text) => fillHtml(paragraphHtml, { text: textAsHtml(text) })).join('')
  return {
    id: confirmationMailId(submission.id),
    to: submission.email,
    subject: title,
    text: fillText(confirmationText, { paragraphs: paragraphs.join('\n\n'), footer: CONFIRMATION_FOOTER }),
    html: fillHtml(layout, { title, content, footer: CONFIRMATION_FOOTER }),
  }
}

const teamMailId = (submissionId: string) => `form-team.${submissionId}`
const confirmationMailId = (submissionId: string) => `form-confirmation.${submissionId}`

/** Ids of the mails that a submission can make. */
export const mailIds = (submissionId: string) => [teamMailId(submissionId), confirmationMailId(submissionId)]

interface Row {
  readonly label: string
  readonly value: string
}

/** The members in the form's order, then what the service knows. */
function rowsOf(
  { id, email, fields, receivedAt }: Submission,
  properties: Readonly<Record<string, { readonly title?: string }>>,
): readonly Row[] {
  const given: Readonly<Record<string, string>> = { email, ...fields }
  const members = Object.entries(properties).flatMap(([name, { title }]) => {
    const value = given[name]
    return value === undefined ? [] : [{ label: title ?? name, value }]
  })
  return [
    ...members,
    { label: 'Received', value: receivedAt.toUTCString() },
    { label: 'Submission', value: id },
  ]
}

/** Further lines of a value stand indented: none of them can look like a row. */
function textRow({ label, value }: Row): string {
  const lines = value.split(/\r\n?|\n/)
  return lines.length === 1
    ? `${label}: ${value}`
    : `${label}:\n${lines.map((line) => `    ${line}`).join('\n')}`
}
