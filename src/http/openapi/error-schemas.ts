/** The schemas of error bodies: `Error` of the REST API and `Problem` of the website API. */
import type { ErrorCatalogue } from '../../platform/errors.ts'

export function errorSchemas(errors: ErrorCatalogue) {
  const error = errorSchema(errors)
  return { Error: error, Problem: problemSchema(error.properties) }
}

/** Words with their meanings, as a Markdown list. */
const listOf = (meanings: Readonly<Record<string, string>>) =>
  ['', ...Object.entries(meanings).map(([word, meaning]) => `- \`${word}\`: ${meaning}`)].join('\n')

/** The error body of the REST API. The codes are a closed list, so clients may branch on them. */
const errorSchema = (errors: ErrorCatalogue) => ({
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
      enum: Object.keys(errors.codes),
    },
    message: { type: 'string', description: 'The reason, in a sentence for people.' },
    requestId: {
      type: 'string',
      description: 'Same as the header `X-Request-Id`. Quote it when you ask for help.',
    },
    ...errors.members,
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
            description: `The kind of finding. ${listOf(errors.details)}`,
            enum: Object.keys(errors.details),
          },
          message: { type: 'string', description: 'The rule, in words.' },
        },
      },
    },
  },
})

/** The error body of the website API (RFC 9457), with a string member `error` for older form clients. */
const problemSchema = ({ code, requestId }: ReturnType<typeof errorSchema>['properties']) => ({
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
    code,
    requestId,
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
})
