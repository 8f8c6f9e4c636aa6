/**
 * The mails of a submission: a notification to the team with all values, and a confirmation to the sender.
 *
 * Subjects are fixed. A confirmation contains nothing from the form. Otherwise anyone could use the form to send
 * arbitrary text to strangers in the operator's name.
 */
import type { Mail } from '../../platform/mail/mail.ts'
import { fillHtml, fillText, textAsHtml } from '../../platform/mail/template.ts'
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

/** The first line is the subject. Paragraphs follow, separated by empty lines. */
const CONFIRMATIONS: Readonly<Record<string, string>> = {
  'builder-waitlist': builderWaitlist,
  'development-waitlist': developmentWaitlist,
  'mobile-reminder': mobileReminder,
  'manifesto-download': manifestoDownload,
}

const TEAM_FOOTER = 'Earshot sent this message because a visitor filled in a form on the website.'
const CONFIRMATION_FOOTER =
  'You receive this because this address was entered in a form on our website. If you did not enter it, ' +
  'please ignore this message.'

/** True if the sender of the form gets a confirmation. */
export function isConfirmed(form: string): boolean {
  return Object.hasOwn(CONFIRMATIONS, form)
}

/** The team's notification. A reply goes to the sender of the form. */
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

/** The sender's confirmation. @throws Error for a form without confirmation */
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

/** Ids of all mails that a submission can cause. */
export const mailIds = (submissionId: string) => [teamMailId(submissionId), confirmationMailId(submissionId)]

interface Row {
  readonly label: string
  readonly value: string
}

/** The form's members in their order, then the time and id of the submission. */
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

/** Further lines of a value are indented, so that none of them looks like a row. */
function textRow({ label, value }: Row): string {
  const lines = value.split(/\r\n?|\n/)
  return lines.length === 1
    ? `${label}: ${value}`
    : `${label}:\n${lines.map((line) => `    ${line}`).join('\n')}`
}
