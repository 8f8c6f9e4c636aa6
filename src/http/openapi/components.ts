/** The parts of the OpenAPI document that operations share: tags, authentication and response headers. */

/** Every tag that an operation may have, in the order of the document. */
export const TAGS = [
  {
    name: 'Agent conversations',
    description:
      'Chat sessions of AI agents, sent as events by your servers. Sending is idempotent: repeat a request freely ' +
      'until it is answered.',
  },
  { name: 'Insight', description: 'What was said on every channel.' },
  {
    name: 'Signals',
    description: 'Signals in conversations: explicit feedback, and signals found by analysis.',
  },
  {
    name: 'Agent applications',
    description: 'The applications that may send conversations: their settings, secrets and usage.',
  },
  {
    name: 'Coding-agent sessions',
    description:
      'Sessions of coding agents such as Claude Code, Codex and Gemini CLI: uploaded as files or as events, and read as events of one form.',
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
    name: 'Projects',
    description: 'What coding agents work on, with the uploaded sessions of these agents.',
  },
  {
    name: 'Members',
    description: 'The users of an organization, their roles and their access tokens.',
  },
  {
    name: 'Administration',
    description:
      'API keys, credits, messages of actors and the audit log: for administrators and the organization’s key.',
  },
  {
    name: 'Session',
    description: 'The signed-in user and the browser sessions of this user.',
  },
  {
    name: 'Feedback',
    description:
      'Support tickets, survey answers and chat messages as records of typed fields: create a source once, put the person, ' +
      'send the record.',
  },
  {
    name: 'Import sources',
    description: 'Help desks whose conversations are read into an agent application.',
  },
  {
    name: 'Webhooks',
    description:
      'Events that the service sends to your server: subscriptions, test events, the log of deliveries, and recovery.',
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
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'earshot-session',
    description:
      'Session of a signed-in browser, with the rights of a user token; the name is `__Host-earshot-session` behind https. ' +
      'Requests that change something carry the `csrfToken` of `GET /v3/rest/session` in the header `X-CSRF-Token`.',
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
    'Where the created object can be read: its own address, or that of a list or an object that has it.',
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
