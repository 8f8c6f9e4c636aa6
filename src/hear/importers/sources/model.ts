/** Shapes of import sources in the API. */
import { type Static, Type } from '@sinclair/typebox'
import {
  count,
  createdAt,
  described,
  moment,
  named,
  oneOf,
  orNull,
  text,
  updatedAt,
  uuid,
} from '../../../platform/validation/schema.ts'
import { SOURCE_FAILURES } from '../providers/http.ts'
import { PROVIDERS } from '../providers/provider.ts'

/** Of one organization. */
export const MAX_SOURCES = 20
export const DEFAULT_MINUTES = 15
/** Unless `since` says otherwise, conversations that changed within these days are imported. */
export const DEFAULT_DAYS = 90
const MAX_MINUTES = 1_440
const MAX_URL = 2_048
const MAX_TEXT = 512
const MAX_SECRET = 4_096
/** They travel in a header; the first colon of HTTP Basic ends the account. */
const ACCOUNT = '^[!-9;-~]+$'
const SECRET = '^[!-~]+$'

/** What `account` is depends on the provider (`providers`). */
const ACCOUNTS = [
  { title: 'Zendesk', required: ['provider'], properties: { provider: { const: 'zendesk' } } },
  {
    title: 'Intercom',
    required: ['provider'],
    properties: { provider: { const: 'intercom' }, account: false },
  },
  {
    title: 'Chatwoot',
    required: ['provider', 'account'],
    properties: { provider: { const: 'chatwoot' }, account: { pattern: '^[1-9][0-9]{0,15}$' } },
  },
]

const provider = oneOf(PROVIDERS, 'The help desk.')
const everyMinutes = Type.Integer({
  minimum: 5,
  maximum: MAX_MINUTES,
  description: 'Minutes between polls for changed conversations.',
})

export const CreateImportSource = Type.Object(
  {
    provider,
    url: text(
      `Address of the help desk, such as \`https://example.zendesk.com\` or \`https://api.intercom.io\`: http or https, at most ${MAX_URL} characters, on a public host or in \`OUTBOUND_ALLOW\`.`,
      {
        maxLength: MAX_URL,
        words: 'an absolute URL',
        documented: { format: 'uri', pattern: '^[hH][tT]{2}[pP][sS]?://' },
      },
    ),
    account: Type.Optional(
      text(
        '`zendesk`: e-mail address of the agent whose API token the secret is; without it, the secret is an OAuth token. `chatwoot`: number of the account. `intercom`: none.',
        {
          minLength: 1,
          maxLength: MAX_TEXT,
          pattern: ACCOUNT,
          words: 'visible ASCII characters without a colon',
          documented: { pattern: ACCOUNT },
        },
      ),
    ),
    secret: text('The API token, access token or OAuth token. Stored sealed, and never shown again.', {
      minLength: 1,
      maxLength: MAX_SECRET,
      pattern: SECRET,
      words: 'visible ASCII characters without spaces',
      documented: { pattern: SECRET },
    }),
    since: Type.Optional(
      moment(
        `Conversations that changed from this moment on are imported, RFC 3339 with offset. Default: ${DEFAULT_DAYS} days ago.`,
      ),
    ),
    environment: Type.Optional(
      text('Environment of the conversations, where the application allows named ones only.', {
        minLength: 1,
        maxLength: MAX_TEXT,
      }),
    ),
    everyMinutes: Type.Optional({ ...everyMinutes, default: DEFAULT_MINUTES }),
  },
  { additionalProperties: false, documented: { oneOf: [...ACCOUNTS] } },
)
export type CreateImportSource = Static<typeof CreateImportSource>

export const ImportSource = named(
  'ImportSource',
  Type.Object({
    id: uuid('Id of the source.'),
    applicationId: uuid('The application that gets the conversations.'),
    provider,
    url: Type.String({ description: 'Address of the help desk.' }),
    account: orNull(Type.String(), 'Account of the secret; null: it needs none.'),
    environment: orNull(Type.String(), 'Environment of the conversations.'),
    since: moment('Conversations that changed from this moment on are imported, in UTC.'),
    everyMinutes,
    conversations: count('Conversations that were stored, once for each change.'),
    messages: count('New messages that were stored.'),
    refused: count('Messages that the application refused, and conversations that could not be read.'),
    nextReadAt: moment('When the source is read next, in UTC.'),
    lastReadAt: orNull(moment('When the source was read last, in UTC; null: never.')),
    caughtUpAt: orNull(moment('When nothing newer was known last, in UTC; null: never.')),
    errorCode: orNull(
      oneOf(SOURCE_FAILURES),
      'Why the last attempt failed; null: it did not. The source is tried again by itself, at the latest after six hours.',
    ),
    failedAt: orNull(moment('When it failed, in UTC.')),
    createdAt,
    updatedAt,
  }),
)
export const ImportSourceList = Type.Object({
  data: described(Type.Array(ImportSource), 'Every source of the application, oldest first.'),
})
