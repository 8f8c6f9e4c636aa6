/** The parts of the OpenAPI document that operations share: authentication, errors and response headers. */
import { DETAIL_CODES, ERROR_MEMBERS, ERROR_STATUS } from '../../error-catalogue.ts'

/** Every tag that an operation may have, in the order of the document. */
export const TAGS = [
  {
    name: 'Agent conversations',
    description:
      'Chat sessions of AI agents, sent as events by your servers. Sending is idempotent: repeat a request freely ' +
      'until it is answered.',
  },
  {
    name: 'Signals',
    description: 'Signals in conversations: explicit feedback, and signals found by analysis.',
  },
  {
    name: 'Agent applications',
    description: 'The applications that may send conversations: their settings, secrets and usage.',
  },
  {
    name: 'Organization',
    description: 'The organization of the key and its enabled features.',
  },
  {
    name: 'Metadata',
    description:
      'Metadata of recordings: sources (namespaces) and their typed fields. Values of the ' +
      'fields of the canonical source `recordings` are attached to recordings.',
  },
  {
    name: 'Recordings',
    description:
      'Calls and meetings with their folders, participants, typed values and transcripts: created completely, read individually ' +
      'or as a list.',
  },
  {
    name: 'Uploads',
    description:
      'The media of a recording, sent as a file: create an upload, send the bytes to its `uploadUrl`, and poll its phase.',
  },
  {
    name: 'Folders',
    description: 'Folders determine who can see recordings. Upload batches group uploads.',
  },
  {
    name: 'Members',
    description: 'The users of an organization and their access tokens: list, create, revoke and remove.',
  },
  {
    name: 'Feedback',
    description:
      'Support tickets, survey answers and chat messages as records of typed fields: create a source once, put the person, ' +
      'send the record.',
  },
  { name: 'Service', description: 'Health, readiness and metrics of the service.' },
  {
    name: 'Website',
    description:
      'The public website: forms, content and the assistant. Without credentials; requests are counted per client address. ' +
      'Send a form only if its user asked for it. `success` means that a submission was accepted, not that anyone has read it.',
  },
] as const

export const SECURITY_SCHEMES = {
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Service-Api-Key',
    description: 'API key of an organization (`esk_…`).',
  },
  agentSecret: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Service-Agent-Key',
    description:
      'Secret of an agent application (`eas_…`). It can only send conversations. For servers only.',
  },
  userToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'Access token of a user. A user of several organizations chooses one with the header ' +
      '`X-Service-Organization-Key: <organization id>`.',
  },
} as const

/** Words with their meanings, as a Markdown list. */
const listOf = (meanings: Readonly<Record<string, string>>) =>
  ['', ...Object.entries(meanings).map(([word, meaning]) => `- \`${word}\`: ${meaning}`)].join('\n')

/** The error body of the REST API. The codes are a closed list, so clients may branch on them. */
export const ERROR_SCHEMA = {
  type: 'object',
  description:
    'Why a request was refused. Branch on `code` or the status; `message` is for people and may change.',
  required: ['statusCode', 'timestamp', 'path', 'error', 'code', 'message', 'requestId'],
  properties: {
    statusCode: { type: 'integer', description: 'The HTTP status.' },
    timestamp: { type: 'string', format: 'date-time', description: 'When the request was refused.' },
    path: { type: 'string', description: 'Path of the request, without its query.' },
    error: { type: 'string', description: 'Reason phrase of the status.' },
    code: {
      type: 'string',
      description: 'Stable code from this list. Each operation names the codes it can return.',
      enum: Object.keys(ERROR_STATUS),
    },
    message: { type: 'string', description: 'The reason, in a sentence for people.' },
    requestId: {
      type: 'string',
      description: 'Same as the header `X-Request-Id`. Quote it when you ask for help.',
    },
    ...ERROR_MEMBERS,
    details: {
      type: 'array',
      description: 'The findings about the input, one per invalid value.',
      items: {
        type: 'object',
        description: 'One finding.',
        required: ['path', 'code', 'message'],
        properties: {
          path: { type: 'string', description: 'Path of the value, such as `events[3].sequence`.' },
          code: {
            type: 'string',
            description: `The kind of finding. ${listOf(DETAIL_CODES)}`,
            enum: Object.keys(DETAIL_CODES),
          },
          message: { type: 'string', description: 'The rule, in words.' },
        },
      },
    },
  },
} as const

/** The error body of the website API (RFC 9457), with a string member `error` for older form clients. */
export const PROBLEM_SCHEMA = {
  type: 'object',
  description:
    'Why a request was refused. Branch on `code` or the status; texts are for people and may change.',
  required: ['type', 'title', 'status', 'detail', 'instance', 'error', 'code', 'requestId'],
  properties: {
    type: { type: 'string', description: 'A registered problem type (a URI), or `about:blank`.' },
    title: { type: 'string', description: 'Reason phrase of the status.' },
    status: { type: 'integer', description: 'The HTTP status.' },
    detail: { type: 'string', description: 'The reason, in a sentence for people.' },
    instance: { type: 'string', description: 'Path of the request, without its query.' },
    error: { type: 'string', description: 'Same as `detail`.' },
    code: ERROR_SCHEMA.properties.code,
    requestId: ERROR_SCHEMA.properties.requestId,
    errors: {
      type: 'array',
      description: 'The findings about the input, one per invalid value.',
      items: {
        type: 'object',
        description: 'One finding.',
        required: ['pointer', 'detail'],
        properties: {
          pointer: { type: 'string', description: 'JSON pointer as a URI fragment, such as `#/email`.' },
          detail: { type: 'string', description: 'The rule, in words.' },
        },
      },
    },
  },
} as const

const text = (description: string, example: string) => ({ description, schema: { type: 'string' }, example })
const count = (description: string, example: number) => ({
  description,
  schema: { type: 'integer' },
  example,
})

export const HEADERS = {
  'X-Request-Id': text(
    'Identifies the request in the logs. A caller may send its own: 1 to 128 visible ASCII characters.',
    '0197f3a5-7c1e-7d3b-9f52-1b2c3d4e5f60',
  ),
  'RateLimit-Policy': text(
    'The limit that applies, and its window in seconds.',
    '"agent-ingest";q=60000;w=60',
  ),
  RateLimit: text(
    'The remaining requests, and the seconds until the limit resets.',
    '"agent-ingest";r=59999;t=42',
  ),
  'X-RateLimit-Limit': count('Requests in the window.', 60_000),
  'X-RateLimit-Remaining': count('Requests left in the window.', 59_999),
  'X-RateLimit-Reset': count('End of the window in Unix seconds.', 1_767_344_460),
  'Retry-After': count('Seconds to wait.', 42),
  'API-Version': text('The version of the answer.', '1'),
  Deprecation: text('Only for a superseded version: when it was superseded (RFC 9745).', '@1782864000'),
  Sunset: text(
    'Only for a superseded version: when it stops working (RFC 8594).',
    'Wed, 30 Sep 2026 00:00:00 GMT',
  ),
  Link: text(
    'Only for a superseded version: how to migrate.',
    '</docs>; rel="deprecation"; type="text/html", </docs>; rel="sunset"; type="text/html"',
  ),
  Location: text(
    'Address of the created object.',
    '/v3/rest/agent-applications/0197f3a5-7c1e-7d3b-9f52-1b2c3d4e5f60',
  ),
  Allow: text('Methods that the address supports.', 'GET, HEAD'),
  'WWW-Authenticate': text('How to authenticate (RFC 9110 section 11.6.1).', 'Bearer realm="earshot"'),
} as const

/** Request header of every website operation. */
export const API_VERSION_PARAMETER = {
  name: 'API-Version',
  in: 'header',
  required: false,
  description: 'Requests a version; default: the current one. An unsupported version is 400.',
  schema: { type: 'string' },
  example: '1',
} as const

export type HeaderName = keyof typeof HEADERS
