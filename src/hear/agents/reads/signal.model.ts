/** Wire shapes of the routes that read signals. */
import { Type } from '@sinclair/typebox'
import { pageQuery } from '../../../http/paging.ts'
import { momentParameter, personParameter } from '../../../http/parameters.ts'
import { CHANNELS } from '../../../kernel/channel.ts'
import {
  createdAt,
  described,
  moment,
  named,
  oneOf,
  orNull,
  updatedAt,
  uuid,
} from '../../../platform/validation/schema.ts'
import { RATINGS, SIGNAL_KINDS, SIGNAL_SOURCES } from '../model.ts'

const SignalKindWord = named(
  'SignalKind',
  oneOf(
    SIGNAL_KINDS,
    'What the signal says. `message_feedback`: a user rated or commented on a response. The other kinds are findings: ' +
      'the customer reports a bug, asks for a feature, asks a question, complains, praises, is confused, wants a human, may ' +
      'leave, says that an answer is wrong, has the same problem again, or confirms that it works. `user_sentiment`, ' +
      '`resolved`, `unresolved` and `repeated_question` come from older versions and are no longer written.',
  ),
)

const ChannelWord = oneOf(
  CHANNELS,
  'Where it was said: in a recording, a feedback record, or a conversation with an agent.',
)

const SignalSourceWord = named(
  'SignalSource',
  oneOf(
    SIGNAL_SOURCES,
    '`explicit_feedback`: a user gave feedback on a response; `qualitative_inference`: a finding, read out of what was said.',
  ),
)

const orNullText = (description: string) => orNull(Type.String(), description)

const OF_CONVERSATION = 'Of a conversation; null for the other channels.'

export const Signal = named(
  'Signal',
  Type.Object({
    id: uuid('Id of the signal.'),
    channel: ChannelWord,
    agentKey: orNullText('Key of the application. Of a conversation; null for the other channels.'),
    sessionId: orNull(uuid('Id of the session.'), `Id of the session. ${OF_CONVERSATION}`),
    externalSessionId: orNullText(`The caller’s id of the session. ${OF_CONVERSATION}`),
    recordId: orNull(
      Type.Integer({ minimum: 1 }),
      'Id of the feedback record. Of feedback; null for the other channels.',
    ),
    feedbackSourceId: orNull(
      Type.Integer({ minimum: 1 }),
      'Id of the source of the feedback record. Of feedback; null for the other channels.',
    ),
    recordingId: orNull(uuid('Id of the recording.'), 'Id of the recording; null for the other channels.'),
    source: SignalSourceWord,
    kind: SignalKindWord,
    rating: orNull(oneOf(RATINGS), 'Whether it is good or bad; null where neither.'),
    labels: Type.Array(Type.String(), { description: 'Labels of the feedback.' }),
    comment: orNullText('What the user wrote, or what the signal was read from; null without any.'),
    confidence: orNull(
      Type.Number({ minimum: 0, maximum: 1 }),
      'How sure the analyser is of a finding; null for explicit feedback.',
    ),
    evidence: orNull(
      Type.Object({
        quote: Type.String({
          description: 'The customer’s own words.',
          examples: ['That is not what I asked.'],
        }),
        messageId: Type.Optional(
          Type.String({
            description: 'Of a conversation: the `externalEventId` of the message that is quoted.',
            examples: ['m3'],
          }),
        ),
        recordId: Type.Optional(
          Type.Integer({ minimum: 1, description: 'Of feedback: id of the record.', examples: [7] }),
        ),
        field: Type.Optional(
          Type.String({
            description: 'Of feedback: name of the field that is quoted.',
            examples: ['answer'],
          }),
        ),
        recordingId: Type.Optional(uuid('Of a recording: its id.')),
        startSec: Type.Optional(
          Type.Number({
            minimum: 0,
            description: 'Of a recording: start of the utterance that is quoted, in seconds.',
            examples: [12.5],
          }),
        ),
      }),
      'What a finding is based on; null for explicit feedback.',
    ),
    analyzer: orNull(
      Type.Object({
        name: Type.String({
          description: '`builtin`, or the model of the configured server.',
          examples: ['builtin'],
        }),
        version: Type.String({ description: 'Its version.', examples: ['1'] }),
      }),
      'What made a finding; null for explicit feedback.',
    ),
    externalEventId: orNullText(`The event that the signal was read from. ${OF_CONVERSATION}`),
    targetEventExternalId: orNullText('The assistant response that it is about; null where unknown.'),
    sequence: orNull(
      Type.Integer({ minimum: 0 }),
      `Sequence of the event that the signal was read from. ${OF_CONVERSATION}`,
    ),
    revision: orNull(
      Type.Integer({ minimum: 1 }),
      `Revision of the event that the signal was read from. ${OF_CONVERSATION}`,
    ),
    participantExternalId: orNullText('The participant whose signal it is; null where unknown.'),
    productArea: orNullText(
      'Part of the product, as the context of the conversation says; null where unknown.',
    ),
    agentVersion: orNullText('Version of the agent; null where unknown.'),
    personId: orNull(
      uuid('The `uuid` of the person.'),
      'The `uuid` of the person who said it; null if unknown.',
    ),
    occurredAt: moment('When it was said, in UTC.'),
    createdAt,
    updatedAt,
  }),
)

const signalPeriods = {
  since: Type.Optional(momentParameter('`occurredAt` is this moment or later.')),
  until: Type.Optional(momentParameter('`occurredAt` is before this moment.')),
  createdAfter: Type.Optional(momentParameter('Arrived (`createdAt`) at or after this moment.')),
  createdBefore: Type.Optional(momentParameter('Arrived (`createdAt`) before this moment.')),
}

export const SignalQuery = Type.Object({
  source: Type.Optional(described(SignalSourceWord, 'Signals of this source.')),
  rating: Type.Optional(oneOf([...RATINGS, 'none'], 'Signals with this rating; `none`: those without one.')),
  kind: Type.Optional(
    described(
      SignalKindWord,
      'Signals of this kind. A kind of an older version also selects the kinds that replaced it.',
    ),
  ),
  channel: Type.Optional(described(ChannelWord, 'Signals of this channel. Default: all.')),
  agentKey: Type.Optional(Type.String({ description: 'Of the application with this key.' })),
  productArea: Type.Optional(Type.String({ description: 'Of this part of the product, by case.' })),
  agentVersion: Type.Optional(Type.String({ description: 'Of this version of the agent, by case.' })),
  personId: personParameter(
    'What this person said: `id` or `uuid` of the person. Then in the order of `occurredAt`.',
  ),
  recordId: Type.Optional(
    Type.String({
      pattern: '^[1-9][0-9]{0,14}$',
      words: 'the id of a feedback record',
      description: 'Signals of one feedback record.',
    }),
  ),
  recordingId: Type.Optional(uuid('Signals of one recording.')),
  shown: Type.Optional(
    oneOf(
      ['true', 'false'],
      '`false`: instead, findings that are not precise enough to be shown, so that somebody can judge them. Default: `true`.',
    ),
  ),
  sessionId: Type.Optional(uuid('Signals of one session, then in the order of `sequence`.')),
  ...signalPeriods,
  ...pageQuery(100, 20),
})
