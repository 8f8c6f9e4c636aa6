/** Settings of the recorder whose bot joins meetings, and times of meetings. */
import { integer, type Setting, text, url, WEB } from './kinds.ts'

export const MEETING_SETTINGS = {
  RECORDER: {
    kind: 'choice',
    allowed: ['attendee', 'vexa', 'recall', 'none'],
    default: 'none',
    text: 'The recorder whose bot joins meetings. The others of this group have no effect without one. See [Meetings](meetings.md).',
  },
  RECORDER_URL: url(WEB, 'none', 'Address of the recorder. Required with `RECORDER`.'),
  RECORDER_API_KEY: text('text', 'none', 'The key for the recorder. Required with `RECORDER`.'),
  RECORDER_WEBHOOK_SECRET: text(
    'text',
    'the recorder is only polled',
    'The secret with which the recorder signs its webhooks to `/hooks/recorder/<name>`. They make a state show sooner.',
  ),
  RECORDER_POLL: integer(
    5,
    1,
    3_600,
    'Seconds between polls of a meeting whose state has just changed. The interval grows to one minute.',
  ),
  RECORDER_TIMEOUT: integer(15, 1, 300, 'Seconds that one request to the recorder may take.'),
  RECORDER_DELETE: {
    kind: 'choice',
    allowed: ['true', 'false'],
    default: 'true',
    text: 'Delete recording and transcript at the recorder once they are stored here.',
  },
  MEETING_JOIN_TIMEOUT: integer(
    300,
    5,
    86_400,
    'Seconds in which the bot must reach the meeting or its waiting room, from the request or from `joinAt`. Then the media fails with `join_timeout`.',
  ),
  MEETING_WAITING_ROOM_TIMEOUT: integer(
    1_200,
    5,
    86_400,
    'Seconds that the bot waits to be let in. Then it leaves, and the media fails with `waiting_room_timeout`.',
  ),
  MEETING_RECORDING_TIMEOUT: integer(
    28_800,
    5,
    604_800,
    'Seconds that a meeting is recorded at most. Then the bot leaves, and what it recorded is kept.',
  ),
  MEETING_PROCESSING_TIMEOUT: integer(
    7_200,
    5,
    604_800,
    'Seconds that the recorder has after the meeting to finish the recording. Then the media fails with `recorder_failed`.',
  ),
} as const satisfies Readonly<Record<string, Setting>>
