/** Shapes of coding-agent sessions in the API, and their limits. */
import { type Static, Type } from '@sinclair/typebox'
import { pageQuery } from '../../http/paging.ts'
import { MAX_NAME } from '../../platform/validation/names.ts'
import {
  count,
  createdAt,
  moment,
  named,
  oneOf,
  orNull,
  text,
  trimmedText,
  updatedAt,
  uuid,
} from '../../platform/validation/schema.ts'
import { EVENT_KINDS, FORMATS, ROLES } from './event.rules.ts'

/** Bytes of a JSON request. Larger files go by an upload. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024
const MAX_EVENTS = 5_000

const optionalText = (description: string, maxLength: number) =>
  Type.Optional(text(`${description} 1 to ${maxLength} characters.`, { minLength: 1, maxLength }))

const AGENT = Type.Optional(
  Type.String({
    pattern: '^[a-z0-9][a-z0-9._-]{0,63}$',
    words: '1 to 64 lower-case letters, digits, dots, underscores and hyphens',
    description: 'The agent, such as `claude-code`: at most 64 characters. Default: the format.',
  }),
)

const tokens = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description }))

/** What the uploader may state about a session. */
const labelMembers = {
  title: optionalText('Title of the session.', 255),
  agent: AGENT,
  repo: optionalText('The repository, such as its URL.', 512),
  branch: optionalText('The branch.', 255),
  commit: optionalText('The commit.', 64),
  externalSessionId: optionalText(
    "The agent's id of the session. Default: that of the file. Normalised events without it are recognised by their first event.",
    512,
  ),
}

const NormalizedEvent = Type.Object({
  id: optionalText('Your id of the event, unique in the session. Default: computed from the content.', 512),
  kind: Type.Optional(oneOf(EVENT_KINDS, 'What happened. Default: `message`.')),
  role: Type.Optional(oneOf(ROLES, 'Who caused it. Default: by `kind`; `assistant` for messages.')),
  occurredAt: Type.Optional(moment('When it happened.')),
  text: Type.Optional(text('The text: at most 262,144 characters are kept, 16,384 of a `tool_result`.')),
  reasoning: Type.Optional(text('Reasoning that the agent shows: at most 262,144 characters are kept.')),
  toolCalls: Type.Optional(
    Type.Array(
      Type.Object({
        id: optionalText("The agent's id of the call.", 512),
        name: text('Name of the tool: 1 to 512 characters.', { minLength: 1, maxLength: 512 }),
        input: Type.Optional(Type.Unknown({ description: 'Input of the tool, as JSON.' })),
        output: Type.Optional(text('Output of the tool: at most 16,384 characters are kept.')),
        isError: Type.Optional(Type.Boolean({ description: 'Whether the call failed.' })),
        fileEdits: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 10_000,
            description: 'The number of files that the call edits. Default: by the name of the tool.',
          }),
        ),
      }),
      { maxItems: 200, description: 'Calls of tools: at most 200.' },
    ),
  ),
  toolCallId: optionalText('Of a `tool_result`: the call that it answers.', 512),
  isError: Type.Optional(Type.Boolean({ description: 'Of a `tool_result`: whether the call failed.' })),
  model: optionalText('Name of the model.', 255),
  sidechain: Type.Optional(Type.Boolean({ description: 'Whether a sub-agent did it.' })),
  usage: Type.Optional(
    Type.Object(
      {
        inputTokens: tokens('Tokens of the prompt that no cache served.'),
        outputTokens: tokens('Tokens of the answer, with its reasoning.'),
        cacheReadTokens: tokens('Tokens of the prompt that a cache served.'),
        cacheWriteTokens: tokens('Tokens that were written to a cache.'),
        reasoningTokens: tokens('Tokens of the reasoning.'),
      },
      { description: 'Tokens of the event. State them once a message.' },
    ),
  ),
})

export const UploadCodingSession = Type.Object(
  {
    format: oneOf(FORMATS, 'The form of the events. `events` are always `normalized`.'),
    ...labelMembers,
    events: Type.Optional(
      Type.Array(NormalizedEvent, {
        minItems: 1,
        maxItems: MAX_EVENTS,
        description: `Normalised events in their order: at most ${MAX_EVENTS}.`,
      }),
    ),
    jsonl: Type.Optional(text('The text of a session file, one JSON object a line.', { minLength: 1 })),
    uploadId: Type.Optional(uuid('Id of an upload of a session file whose phase is `ready`.')),
  },
  { additionalProperties: false },
)
export type UploadCodingSession = Readonly<Static<typeof UploadCodingSession>>

const usageMembers = {
  inputTokens: count('Tokens of prompts that no cache served.'),
  outputTokens: count('Tokens of answers, with their reasoning.'),
  cacheReadTokens: count('Tokens of prompts that a cache served.'),
  cacheWriteTokens: count('Tokens that were written to a cache.'),
  reasoningTokens: count('Tokens of reasoning.'),
}

const CodingSessionUsage = named(
  'CodingSessionUsage',
  Type.Object(usageMembers, {
    description:
      'Tokens, each message once. Events that another session of the same owner has (a fork copies its history) count there.',
  }),
)

const optionalMoment = (description: string) => orNull(Type.String({ format: 'date-time' }), description)

const countMembers = {
  agent: Type.String({ description: 'The agent.' }),
  startedAt: optionalMoment('Time of the first event, in UTC; null if no event has a time.'),
  endedAt: optionalMoment('Time of the last event, in UTC; null if no event has a time.'),
  eventCount: count('Events of the session.'),
  messages: count('Messages of the user and of the agent.'),
  fileEdits: count('Files that calls of tools edited, or tried to.'),
  toolCalls: count('Calls of tools.'),
  usage: CodingSessionUsage,
  skippedLines: count(
    'Lines of the latest upload that could not be used: torn, too long, or of an unknown type. A number of tokens that no ' +
      'program counts is left out, and its line counts here, too.',
  ),
}

export const CodingSessionResult = named(
  'CodingSessionResult',
  Type.Object({
    sessionId: uuid('Id of the session.'),
    ...countMembers,
    deduplicatedEventCount: count(
      'Events of this upload that were known: stored before in this session, or part of the history of another session.',
    ),
  }),
)
export interface CodingSessionResult {
  readonly sessionId: string
  readonly agent: string
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly eventCount: number
  readonly deduplicatedEventCount: number
  readonly messages: number
  readonly fileEdits: number
  readonly toolCalls: number
  readonly usage: {
    readonly inputTokens: number
    readonly outputTokens: number
    readonly cacheReadTokens: number
    readonly cacheWriteTokens: number
    readonly reasoningTokens: number
  }
  readonly skippedLines: number
}

export const CodingSession = named(
  'CodingSession',
  Type.Object({
    sessionId: uuid('Id of the session.'),
    externalSessionId: Type.String({ description: "The agent's id of the session." }),
    title: orNull(Type.String(), 'Title; null: unknown.'),
    repo: orNull(Type.String(), 'The repository; null: unknown.'),
    branch: orNull(Type.String(), 'The branch; null: unknown.'),
    commit: orNull(Type.String(), 'The commit; null: unknown.'),
    ...countMembers,
    createdAt,
    updatedAt,
  }),
)

export const CodingSessionEvent = named(
  'CodingSessionEvent',
  Type.Object({
    id: uuid('Id of the event. A copy in a fork has the same id.'),
    kind: oneOf(EVENT_KINDS, 'What happened.'),
    role: oneOf(ROLES, 'Who caused it.'),
    occurredAt: optionalMoment('When it happened, in UTC; null: unknown.'),
    model: orNull(Type.String(), 'Name of the model; null: unknown or none.'),
    sidechain: Type.Boolean({ description: 'Whether a sub-agent did it.' }),
    inherited: Type.Boolean({ description: 'Whether it came from the history of another session.' }),
    undone: Type.Boolean({ description: 'Whether the user went back to a point before it.' }),
    text: orNull(Type.String(), 'The text, redacted and cut; null: none.'),
    reasoning: orNull(Type.String(), 'The reasoning, redacted and cut; null: none.'),
    toolCalls: Type.Array(
      Type.Object({
        id: Type.Optional(Type.String({ description: "The agent's id of the call." })),
        name: Type.String({ description: 'Name of the tool.' }),
        input: Type.Optional(
          Type.Unknown({
            description: 'Input of the tool: JSON, or the beginning of its text if it is too long.',
            examples: [{ command: 'make test' }],
          }),
        ),
        output: Type.Optional(
          Type.String({ description: 'Output of the tool, if the agent keeps it with the call.' }),
        ),
        isError: Type.Optional(Type.Boolean({ description: 'Whether the call failed.' })),
        fileEdits: Type.Optional(count('The number of files that the call edits.')),
      }),
      { description: 'Calls of tools.' },
    ),
    toolCallId: orNull(Type.String(), 'Of a result: the call that it answers; otherwise null.'),
    isError: Type.Boolean({ description: 'Of a result: whether the call failed.' }),
    usage: Type.Object(usageMembers, { description: 'Tokens of the event.' }),
  }),
)

export const CodingSessionQuery = Type.Object({
  ...pageQuery(100, 20),
  agent: Type.Optional(Type.String({ maxLength: 64, description: 'Only sessions of this agent.' })),
})
export const CodingSessionEventQuery = Type.Object(pageQuery(500, 100))

export const CreateSessionUpload = Type.Object(
  {
    fileName: trimmedText('Name of the file.', MAX_NAME),
    fileSize: Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Size of the file in bytes. The upload is complete when exactly this many have arrived.',
    }),
    format: Type.Optional(oneOf(FORMATS, 'The form of the file. Default: found by its content.')),
    uploadKey: optionalText(
      'Your id of this upload. The same id again returns the same upload, so that a client can continue after it lost the answer.',
      255,
    ),
    ...labelMembers,
  },
  { additionalProperties: false },
)
export type CreateSessionUpload = Readonly<Static<typeof CreateSessionUpload>>

const UPLOAD_PHASES = ['waiting', 'processing', 'encoding', 'ready', 'failed', 'cancelled'] as const
const UPLOAD_ERRORS = [
  'upload_failed',
  'upload_expired',
  'processing_failed',
  'unsupported_session_format',
  'coding_session_empty',
] as const

const uploadMembers = {
  uploadId: uuid('Id of the upload.'),
  phase: oneOf(
    UPLOAD_PHASES,
    '`waiting`: bytes are missing or arriving; `processing`: the file is read. The final phases are `ready`, `failed` and ' +
      '`cancelled`; `encoding` does not occur.',
  ),
  expiresAt: moment('The deadline for the next bytes while `waiting`, in UTC. Arriving bytes extend it.'),
  fileName: Type.String({ description: `Name of the file: 1 to ${MAX_NAME} characters.` }),
  fileSize: Type.Integer({ minimum: 1, description: 'Size of the file in bytes.' }),
  processedBytes: count('Bytes of the file that were read.'),
  errorCode: orNull(
    oneOf(UPLOAD_ERRORS),
    'Why the upload failed; null if it did not. `unsupported_session_format`: the format is unknown; `coding_session_empty`: no ' +
      'line is an event.',
  ),
  session: orNull(
    CodingSessionResult,
    'The session once the upload is `ready`; null before, and if it was deleted.',
  ),
}
export const CodingSessionUpload = named('CodingSessionUpload', Type.Object(uploadMembers))

export const CreatedSessionUpload = named(
  'CreatedCodingSessionUpload',
  Type.Object({
    ...uploadMembers,
    uploadUrl: Type.String({
      format: 'uri',
      description: 'The URL to send the file to. It is a secret for this one file: neither log nor store it.',
    }),
    timeoutSeconds: Type.Integer({
      minimum: 1,
      description: 'Seconds from now until `expiresAt`. Arriving bytes restart this period.',
    }),
  }),
)
