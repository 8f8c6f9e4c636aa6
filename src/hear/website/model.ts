/**
 * The website's forms: their members (specification, "Website form payloads") and texts.
 *
 * All members are strings. White space around them is removed before validation. A single-line member contains no
 * control character. Unknown members are ignored.
 */
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { named, STORABLE_NOT_BLANK, text } from '../../platform/validation/schema.ts'

const MAX_NAME = 200
const MAX_WORD = 100
const MAX_EMAIL = 254
const MAX_TEXT = 10_000

const ONE_LINE = '^[^\\x00-\\x1f\\x7f]*$'
const ONE_LINE_NOT_BLANK = '^[^\\S\\x00-\\x1f\\x7f]*[^\\s\\x00-\\x1f\\x7f][^\\x00-\\x1f\\x7f]*$'

const line = (title: string, maxLength: number) =>
  Type.String({
    title,
    description: `${title}: one line of 1 to ${maxLength} characters.`,
    minLength: 1,
    maxLength,
    pattern: ONE_LINE,
    documented: { pattern: ONE_LINE_NOT_BLANK },
    words: `one line of 1 to ${maxLength} characters`,
  })
const optionalLine = (title: string, maxLength: number) =>
  Type.Optional(
    Type.String({
      title,
      description: `${title}: one line of at most ${maxLength} characters.`,
      maxLength,
      pattern: ONE_LINE,
      words: `one line of at most ${maxLength} characters`,
    }),
  )
const optionalText = (title: string) =>
  Type.Optional(text(`${title}: at most ${MAX_TEXT} characters.`, { title, maxLength: MAX_TEXT }))

const name = line('Name', MAX_NAME)
const email = Type.String({
  title: 'E-mail',
  description: `E-mail address: at most ${MAX_EMAIL} characters.`,
  maxLength: MAX_EMAIL,
  format: 'email',
})
const company = optionalLine('Company', MAX_NAME)
const useCase = optionalText('Use case')
const source = optionalLine('Source', MAX_NAME)

const WAITLIST_EXAMPLE = {
  email: 'ann@example.com',
  name: 'Ann Example',
  company: 'Example Ltd',
  useCase: 'Hear what customers ask our support agent.',
}

export interface Form {
  /** The last part of its path, and its name in the database. */
  readonly name: string
  readonly operationId: string
  readonly summary: string
  /** Subject of the team's notification. */
  readonly title: string
  readonly body: TObject
  readonly example: Readonly<Record<string, string>>
  /** True for lists, which store an address once. Keep the same forms in the index `form_submission_once`. */
  readonly once: boolean
}

export const FORMS: readonly Form[] = [
  {
    name: 'contact',
    operationId: 'contact',
    summary: 'Write to the team',
    title: 'New contact request',
    body: Type.Object({
      name,
      email,
      inquiryType: line('Kind of inquiry', MAX_WORD),
      message: text(`Message: 1 to ${MAX_TEXT} characters.`, {
        title: 'Message',
        minLength: 1,
        maxLength: MAX_TEXT,
        documented: { pattern: STORABLE_NOT_BLANK },
      }),
      company,
    }),
    example: {
      name: 'Ann Example',
      email: 'ann@example.com',
      inquiryType: 'sales',
      message: 'We have 200 support agents. Can we talk?',
      company: 'Example Ltd',
    },
    once: false,
  },
  {
    name: 'builder-waitlist',
    operationId: 'builderWaitlist',
    summary: 'Join the waitlist for builders',
    title: 'New entry on the builder waitlist',
    body: Type.Object({ email, name, company, useCase }),
    example: WAITLIST_EXAMPLE,
    once: true,
  },
  {
    name: 'development-waitlist',
    operationId: 'developmentWaitlist',
    summary: 'Join the waitlist for developers',
    title: 'New entry on the development waitlist',
    body: Type.Object({ email, name, company, useCase }),
    example: WAITLIST_EXAMPLE,
    once: true,
  },
  {
    name: 'embed-inquiry',
    operationId: 'embedInquiry',
    summary: 'Ask about embedding the product',
    title: 'New inquiry about embedding',
    body: Type.Object({ name, email, company, dataTypes: optionalText('Kinds of data'), useCase }),
    example: {
      name: 'Ann Example',
      email: 'ann@example.com',
      company: 'Example Ltd',
      dataTypes: 'Calls and chats',
      useCase: 'Show our customers what their callers ask for.',
    },
    once: false,
  },
  {
    name: 'mobile-reminder',
    operationId: 'mobileReminder',
    summary: 'Get a reminder when the mobile app is available',
    title: 'New reminder for the mobile app',
    body: Type.Object({ email }),
    example: { email: 'ann@example.com' },
    once: true,
  },
  {
    name: 'manifesto-download',
    operationId: 'manifestoDownload',
    summary: 'Download the manifesto',
    title: 'New download of the manifesto',
    body: Type.Object({ email, source, timestamp: optionalLine('Time', MAX_WORD) }),
    example: { email: 'ann@example.com', source: 'footer', timestamp: '2026-01-02T03:04:05Z' },
    once: false,
  },
  {
    name: 'csdemo',
    operationId: 'csdemo',
    summary: 'Ask for a demonstration for customer success',
    title: 'New request for a demonstration',
    body: Type.Object({ email, process: optionalText('Process'), goal: optionalText('Goal'), source }),
    example: { email: 'ann@example.com', process: 'Calls every quarter', goal: 'Fewer surprises' },
    once: false,
  },
]

export const Accepted = named(
  'Accepted',
  Type.Object({ success: Type.Literal(true, { description: 'The submission was accepted and is stored.' }) }),
)
export type Accepted = Static<typeof Accepted>

/** A stored submission. */
export interface Submission {
  readonly id: string
  readonly form: string
  readonly email: string
  readonly fields: Readonly<Record<string, string>>
  readonly receivedAt: Date
}
