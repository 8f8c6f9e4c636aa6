/** Shapes and limits of questions over everything that was said. */
import { Type } from '@sinclair/typebox'
import { OUTCOMES } from '../../analysis/analyze/insight.ts'
import { momentParameter, personParameter } from '../../http/parameters.ts'
import { CHANNELS } from '../../kernel/channel.ts'
import {
  count,
  described,
  moment,
  named,
  oneOf,
  orNull,
  STORABLE_NOT_BLANK,
  text,
} from '../../platform/validation/schema.ts'
import { MATCHES, MAX_QUESTION } from '../search/model.ts'

/** Passages of an answer. */
export const MAX_PASSAGES = 12
/** Conversations, records and recordings that are counted: those with the best passages. */
export const MAX_COUNTED = 100

const STATUSES = [
  'answered',
  'no_model_server',
  'nothing_found',
  'nothing_quoted',
  'budget_spent',
  'busy',
  'failed',
] as const
export type AnswerStatus = (typeof STATUSES)[number]

export const Question = Type.Object({
  question: text(`The question, in any language: 1 to ${MAX_QUESTION} characters with a word in them.`, {
    minLength: 1,
    maxLength: MAX_QUESTION,
    documented: { pattern: STORABLE_NOT_BLANK },
  }),
  since: Type.Optional(momentParameter('What was said at this time or later.')),
  until: Type.Optional(momentParameter('What was said before this time.')),
  channel: Type.Optional(oneOf(CHANNELS, 'Only this channel. Default: all.')),
  personId: personParameter('Only what this person said or took part in: `id` or `uuid` of the person.'),
  agentKey: Type.Optional(text('Only conversations with this agent.', { minLength: 1, maxLength: 512 })),
})

const passages = Type.Array(Type.Integer({ minimum: 1 }), {
  description: 'Numbers of passages of this answer.',
})

const Sentence = Type.Object({
  text: Type.String({ description: 'One sentence, plain text, written by the model.' }),
  passages: Type.Array(Type.Integer({ minimum: 1 }), {
    minItems: 1,
    description: 'Numbers of the passages that it quotes word for word.',
  }),
})

export const AskedPassage = Type.Object({
  number: Type.Integer({ minimum: 1, description: 'Its number in this answer.' }),
  channel: oneOf(CHANNELS, 'Where it was said.'),
  id: Type.String({
    description: 'Id of the session of the conversation, of the feedback record, or of the recording.',
  }),
  feedbackSourceId: orNull(
    Type.Integer({ minimum: 1 }),
    'Id of the feedback source; null on other channels.',
  ),
  messageId: orNull(Type.String(), 'The `externalEventId` of the message; null on other channels.'),
  recordId: orNull(Type.Integer({ minimum: 1 }), 'Id of the feedback record; null on other channels.'),
  field: orNull(Type.String(), 'Name of the field of the feedback record; null on other channels.'),
  startSec: orNull(
    Type.Number({ minimum: 0 }),
    'Where the passage starts in the recording, in seconds; null on other channels.',
  ),
  quote: Type.String({ description: 'What was said, as plain text; of long texts the parts that fit.' }),
  occurredAt: moment('When it was said, in UTC. For a recording: when it began.'),
  personId: orNull(Type.String({ format: 'uuid' }), 'The `uuid` of the person who said it; null if unknown.'),
})

const group = <S extends object>(members: S) =>
  Type.Object({ ...(members as Record<string, never>), count: count('How many.', { minimum: 1 }), passages })

export const AskedCounts = Type.Object({
  subjects: count(
    `Conversations, records and recordings that were counted: those with the best passages, at most ${MAX_COUNTED}.`,
  ),
  themes: Type.Array(
    group({
      id: Type.String({ format: 'uuid', description: 'Id of the theme.' }),
      title: Type.String({ description: 'Title of the theme.' }),
    }),
    { description: 'By theme, the most frequent first. One may have several themes.' },
  ),
  productAreas: Type.Array(group({ productArea: Type.String({ description: 'An area of the product.' }) }), {
    description: 'By area of the product, as the context of conversations says.',
  }),
  outcomes: Type.Array(group({ outcome: oneOf(OUTCOMES, 'How they ended.') }), {
    description: 'Of conversations and recordings, by outcome.',
  }),
  analyzers: Type.Array(
    group({
      name: Type.String({ description: 'The analyser that read them.' }),
      version: Type.String({ description: 'Its version.' }),
    }),
    { description: 'By whom outcomes and themes were read.' },
  ),
})

export const answerMembers = {
  answer: orNull(
    Type.Array(Sentence, { minItems: 1 }),
    'The sentences of a model, each with the passages that it quotes; null if there is none, as `answerStatus` says.',
  ),
  answerStatus: oneOf(
    STATUSES,
    '`answered`; or why there is no answer: `no_model_server` is configured; `nothing_found`, so no model was asked; `nothing_quoted`: no ' +
      'sentence of the model quoted the passages; `budget_spent`: the tokens of the day are used; `busy`: too many questions of the ' +
      'organization wait; `failed`: the model server did not answer as asked, or not in time. More values may follow.',
  ),
  model: orNull(Type.String(), 'The model that wrote the answer; null without an answer.'),
  match: oneOf(
    MATCHES,
    'How the passages were found, as in the search: by `all` or `any` of the words of the question, or also by `meaning`. More values may follow.',
  ),
  complete: Type.Boolean({
    description:
      'False if the question could not be understood at the moment, so passages that only mean the same are missing. Ask again.',
  }),
} as const

export const Asked = named(
  'AskedAnswer',
  Type.Object({
    answer: answerMembers.answer,
    answerStatus: answerMembers.answerStatus,
    model: answerMembers.model,
    passages: Type.Array(AskedPassage, { maxItems: MAX_PASSAGES, description: 'The best passages first.' }),
    counts: described(AskedCounts, 'What was found, counted.'),
    match: answerMembers.match,
    complete: answerMembers.complete,
  }),
)
