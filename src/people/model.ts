/** Shapes of people in the API: the customers that feedback and recordings are about. */
import { type Static, Type } from '@sinclair/typebox'
import { positionedPageOf, positionQuery } from '../http/paging.ts'
import { momentParameter } from '../http/parameters.ts'
import { EMAIL_PATTERN, MAX_EMAIL } from '../platform/validation/email-address.ts'
import { MAX_NAME } from '../platform/validation/names.ts'
import {
  count,
  createdAt,
  integerId,
  moment,
  named,
  oneOf,
  optionalOrNull,
  orNull,
  text,
  trimmedText,
  uuid,
} from '../platform/validation/schema.ts'

/** RFC 1035 section 2.3.4, in the text form. */
const MAX_DOMAIN = 253

const BOUNDARIES = ['external', 'internal'] as const
export type Boundary = (typeof BOUNDARIES)[number]

/** Labels with dots between them, in Unicode or as in DNS; no scheme, port or path. */
const DOMAIN = '^\\s*[^\\s@:/?#.]+(?:\\.[^\\s@:/?#.]+)+\\s*$'

const BoundaryWord = oneOf(BOUNDARIES, '`external`: a customer; `internal`: a member of the organization.')
const PersonName = text('A name.', { maxLength: MAX_NAME })

export const PutPerson = Type.Object({
  email: Type.String({
    pattern: EMAIL_PATTERN,
    words: 'an e-mail address, such as ann@example.com',
    maxLength: MAX_EMAIL,
    description: `Finds the person in the organization (case-insensitively) or creates one. At most ${MAX_EMAIL} characters.`,
    documented: { format: 'email' },
  }),
  first_name: optionalOrNull(PersonName, `First name, at most ${MAX_NAME} characters. Null clears it.`),
  last_name: optionalOrNull(PersonName, `Last name, at most ${MAX_NAME} characters. Null clears it.`),
  boundary: optionalOrNull(
    BoundaryWord,
    '`external`: a customer; `internal`: a member of the organization. Null keeps the value.',
  ),
  company: optionalOrNull(
    Type.Object(
      {
        name: optionalOrNull(
          trimmedText('Name of the company.', MAX_NAME),
          `1 to ${MAX_NAME} characters after trimming.`,
        ),
        domain: optionalOrNull(
          Type.String({
            pattern: DOMAIN,
            words: 'a domain such as example.com, without scheme, port or path',
            maxLength: MAX_DOMAIN,
          }),
          `Domain such as \`example.com\`, at most ${MAX_DOMAIN} characters.`,
        ),
      },
      {
        documented: {
          anyOf: [
            { required: ['name'], properties: { name: { type: 'string' } } },
            { required: ['domain'], properties: { domain: { type: 'string' } } },
          ],
        },
      },
    ),
    'The person’s company, found by `domain`, else by `name`, else created. Null: the person has no company.',
  ),
})
export type PutPerson = Static<typeof PutPerson>

export const Person = named(
  'Person',
  Type.Object({
    id: integerId('Id of the person.'),
    uuid: uuid(
      'Id of the person in the rest of the API, such as `personId` of the participants of a recording.',
    ),
    first_name: orNull(Type.String(), 'First name; null if unknown.'),
    last_name: orNull(Type.String(), 'Last name; null if unknown.'),
    email: orNull(Type.String(), 'E-mail address; null if unknown.'),
    boundary: BoundaryWord,
    company_id: orNull(Type.Integer({ minimum: 1 }), 'Id of the company; null if unknown.'),
    created_at: createdAt,
  }),
)

export const MergePerson = Type.Object({
  personId: uuid(
    'The `uuid` of the person who is merged into the person of the path. It goes on meaning the person who is kept.',
  ),
})

export const PersonPage = positionedPageOf(Person)

const UUID = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}'
const MAX_UUIDS = 100

/** In code points. */
const MAX_SEARCH = 200

export const PersonQuery = Type.Object({
  ...positionQuery,
  q: Type.Optional(
    text(
      `Parts of the name or the address: 1 to ${MAX_SEARCH} characters. Each word must be a part of a word of the person; a single character begins one. ` +
        'Case and accents do not count.',
      { minLength: 1, maxLength: MAX_SEARCH },
    ),
  ),
  email: Type.Optional(Type.String({ description: 'The whole address, case-insensitively.' })),
  uuids: Type.Optional(
    Type.String({
      pattern: `^${UUID}(?:,${UUID}){0,${MAX_UUIDS - 1}}$`,
      words: `at most ${MAX_UUIDS} UUIDs with commas between them`,
      description:
        `People with these \`uuid\`s, with commas between them, at most ${MAX_UUIDS}: such as the \`personId\`s of a page of signals. ` +
        'The UUID of a person who was merged gives nobody.',
    }),
  ),
  since: Type.Optional(momentParameter('`created_at` is this or later.')),
  until: Type.Optional(momentParameter('`created_at` is before this.')),
})

/** Data that an erasure does not change. The response lists it, so that no caller believes it gone. */
export const LEFT_BY_ERASURE = [
  'ids_of_the_sender',
  'fingerprints',
  'other_conversations',
  'other_recordings',
  'other_coding_sessions',
  'other_feedback',
  'waiting_imports',
  'names_of_objects',
  'media',
  'website_forms',
] as const

const erased = (description: string) => Type.Optional(count(description))

export const PersonErasure = named(
  'PersonErasure',
  Type.Object({
    id: uuid('Id of the erasure.'),
    person_id: integerId('The `id` that the person had.'),
    status: oneOf(
      ['running', 'completed'],
      '`running`: conversations and recordings are being searched. `completed`: everything counted in `erased` is gone, and the ' +
        'service no longer stores whom the erasure was about.',
    ),
    requested_at: moment('When the erasure was requested. Data that arrives later is new.'),
    finished_at: orNull(moment('When it was completed.'), 'When it was completed; null while it is running.'),
    erased: Type.Object(
      {
        feedbackRecords: erased('Feedback records of the person that were deleted.'),
        participations: erased('Places among the participants of recordings that were deleted.'),
        sessions: erased(
          'Agent conversations in which the person took part. The participant stays, without name, address and ids.',
        ),
        events: erased('Messages of these conversations in which text was replaced by `[erased]`.'),
        signals: erased('Signals of these conversations in which text was replaced.'),
        recordings: erased('Recordings of the person whose name or summary was changed.'),
        utterances: erased('Utterances of the transcripts of these recordings that were changed.'),
        values: erased('Metadata values of these recordings that were changed.'),
        fileNames: erased('Names of uploaded files of these recordings that were changed.'),
        codingSessions: erased(
          'Sessions of coding agents that had the e-mail address or the whole name of the person.',
        ),
        codingEvents: erased('Events of these sessions in which text was replaced by `[erased]`.'),
      },
      {
        description: 'How much was erased so far. A kind is absent until the erasure reaches it.',
      },
    ),
    left: Type.Array(oneOf(LEFT_BY_ERASURE), {
      description:
        'Data that an erasure does not change. `ids_of_the_sender`: `externalSessionId`, `externalEventId`, external ids of records. ' +
        '`fingerprints`: SHA-256 digests of messages, by which retries are recognised. `other_conversations` and ' +
        '`other_recordings`: those without the person as a participant, even if they mention the person. ' +
        '`other_coding_sessions`: sessions of coding agents with a part of the name only. ' +
        '`other_feedback`: feedback records of others that mention the person. ' +
        '`waiting_imports`: CSV files whose import has not been started, and what could not be processed within a day. ' +
        '`names_of_objects`: names and descriptions that members gave to companies, projects, folders, sources, themes and the like. ' +
        '`media`: audio, images and their source addresses. `website_forms`: submissions to the operator of the service.',
    }),
  }),
)
