/** Shapes of the timeline of a person in the API. */
import { Type } from '@sinclair/typebox'
import { RATINGS, SIGNAL_SOURCES } from '../../../hear/agents/model.ts'
import { pageOf, pageQuery } from '../../../http/paging.ts'
import { momentParameter } from '../../../http/parameters.ts'
import { CHANNELS } from '../../../kernel/channel.ts'
import { moment, named, oneOf, orNull, uuid } from '../../../platform/validation/schema.ts'

const ChannelWord = oneOf(
  CHANNELS,
  'Where it was said: in a recording, a feedback record, or a conversation with an agent.',
)

export const TimelineQuery = Type.Object({
  ...pageQuery(50, 20),
  channel: Type.Optional(ChannelWord),
  since: Type.Optional(momentParameter('`occurredAt` is this or later.')),
  until: Type.Optional(momentParameter('`occurredAt` is before this.')),
})

const TimelinePassage = named(
  'TimelinePassage',
  Type.Object({
    text: Type.String({
      description: 'What the person said: the first 500 characters or so.',
      examples: ['The export is slow.'],
    }),
    messageId: orNull(
      Type.String({ examples: ['m1'] }),
      'In a conversation: the `externalEventId` of the message; null elsewhere.',
    ),
    startSec: orNull(Type.Number(), 'In a recording: where it begins, in seconds; null elsewhere.'),
    occurredAt: orNull(moment('When it was said.'), 'In a conversation: when it was said; null elsewhere.'),
  }),
)

const TimelineSignalShape = named(
  'TimelineSignal',
  Type.Object({
    id: uuid('Id of the signal.'),
    source: oneOf(SIGNAL_SOURCES, 'Feedback that was given, or something that an analysis found.'),
    kind: Type.String({ description: 'Kind of the signal.', examples: ['message_feedback'] }),
    rating: orNull(oneOf(RATINGS), 'Whether it is good or bad; null where neither.'),
    comment: orNull(
      Type.String({ examples: ['It takes ten minutes.'] }),
      'What the person wrote, or what the signal was read from; null without any.',
    ),
    occurredAt: moment('When it happened, in UTC.'),
  }),
)

export const TimelineEntryShape = named(
  'TimelineEntry',
  Type.Object({
    channel: ChannelWord,
    id: Type.String({
      description: 'Id of the recording, of the feedback record, or of the session of the conversation.',
      examples: ['0198c1f0-0000-7000-8000-000000000003'],
    }),
    title: orNull(
      Type.String({ examples: ['support'] }),
      'Name of the recording or of the feedback source, or key of the agent; null without one.',
    ),
    text: orNull(
      Type.String({ examples: ['The export is slow.'] }),
      'The first passage of `said`, else the summary of the recording; null if there is neither.',
    ),
    occurredAt: moment('When it was said, or when the recording or the conversation began, in UTC.'),
    startSec: orNull(Type.Number(), 'Where `text` is in the recording, in seconds; null elsewhere.'),
    path: Type.String({
      description: 'Where this API has all of it.',
      examples: ['/v3/rest/agent-conversations/sessions/0198c1f0-0000-7000-8000-000000000003'],
    }),
    said: Type.Array(TimelinePassage, {
      description: 'The first passages of the person, at most 5, in their order.',
    }),
    signals: Type.Array(TimelineSignalShape, {
      description: 'Signals of what the person said, at most 20.',
    }),
  }),
)

export const TimelinePageShape = pageOf(TimelineEntryShape)
