/** Shapes of meeting joins (specification, "Meeting join"). */
import { type Static, Type } from '@sinclair/typebox'
import { MAX_NAME } from '../../platform/validation/names.ts'
import {
  moment,
  named,
  oneOf,
  orNull,
  STORABLE_NOT_BLANK,
  trimmedText,
  uuid,
} from '../../platform/validation/schema.ts'
import { MEETING_STATUSES } from './status.rules.ts'
import { PLATFORMS } from './url-parts.rules.ts'

export const MAX_BOT_NAME = 100
export const DEFAULT_BOT_NAME = 'Earshot'
const MAX_FOLDERS = 1_000
/** The largest link, and room for the other members. */
export const MAX_JOIN_BYTES = 128 * 1024

export const JoinMeeting = Type.Object({
  type: Type.Literal('meetingUrl', { description: 'The only way to name a meeting.' }),
  joinUrl: Type.String({
    minLength: 1,
    pattern: '\\S',
    words: 'a string that is not blank',
    description:
      'A link that joins a meeting of Zoom, Google Meet, Microsoft Teams or Webex, as it stands in the invitation. Links in Microsoft Safe ' +
      'Links, Proofpoint and Google redirects are unwrapped.',
    documented: { pattern: STORABLE_NOT_BLANK },
  }),
  joinAt: Type.Optional(
    orNull(moment('A moment.'), 'When the bot joins, at most a year ahead. Null, absent or past: at once.'),
  ),
  displayName: Type.Optional(
    orNull(
      trimmedText('Name of the recording.', MAX_NAME),
      `Name of the recording, stored trimmed: 1 to ${MAX_NAME} characters; null for none.`,
    ),
  ),
  folderIds: Type.Optional(
    Type.Array(uuid('Id of a folder that the caller can see.'), {
      maxItems: MAX_FOLDERS,
      description: `The folders of the recording: at most ${MAX_FOLDERS}. Repeated ids count once.`,
    }),
  ),
  botName: Type.Optional(
    trimmedText(
      `The name that participants of the meeting see. Without one it is ${DEFAULT_BOT_NAME}.`,
      MAX_BOT_NAME,
    ),
  ),
})
export type JoinMeeting = Readonly<Static<typeof JoinMeeting>>

export const MeetingJoin = named(
  'MeetingJoin',
  Type.Object({
    id: uuid('Id of the join.'),
    recordingId: uuid('Id of the recording. Read it to follow the meeting.'),
    created: Type.Boolean({
      description: 'False: the meeting is being recorded already, and this is its recording.',
    }),
  }),
)

/** The progress of a meeting, a member of its recording. */
export const Meeting = named(
  'RecordingMeeting',
  Type.Object(
    {
      platform: oneOf(PLATFORMS, 'Where the meeting takes place.'),
      status: oneOf(
        MEETING_STATUSES,
        '`scheduled`: the bot joins at `joinAt`; `joining`: on its way; `waiting_room`: someone has to let it in; `recording`: it records; ' +
          '`processing`: the meeting is over, and the recorder finishes the media. The final statuses are `ended` and `failed`; `asset` then ' +
          'tells what became of the media.',
      ),
      joinedAt: orNull(moment('A moment.'), 'When the bot was let in, in UTC; null before, or if unknown.'),
      endedAt: orNull(moment('A moment.'), 'When the bot left, in UTC; null before, or if it never joined.'),
    },
    { description: 'The meeting that a recorder joins.' },
  ),
)

export const LeftMeeting = named(
  'LeftMeeting',
  Type.Object({
    id: uuid('Id of the join.'),
    recordingId: uuid('Id of the recording.'),
    meeting: Meeting,
  }),
)
