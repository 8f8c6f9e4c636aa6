/** REST operations on meeting joins. */
import { recorded } from '../../access/audit/change.ts'
import { created, type Operation, ok, operation } from '../../http/operation.ts'
import { uuidOf } from '../../http/parameters.ts'
import { JoinMeeting, LeftMeeting, MAX_JOIN_BYTES, MeetingJoin } from './model.ts'
import type { Joined, Meetings } from './service.ts'

const RECORDINGS = '/v3/rest/recordings'
const JOINS = `${RECORDINGS}/meeting-joins`
const TAG = 'Recordings'

export function meetingOperations(meetings: Meetings): readonly Operation[] {
  return [joinMeeting(meetings), leaveMeeting(meetings)]
}

const joinMeeting = (meetings: Meetings) =>
  operation({
    id: 'joinMeeting',
    method: 'POST',
    path: JOINS,
    tag: TAG,
    summary: 'Have a meeting recorded',
    description: [
      'The recorder’s bot joins the meeting now or at `joinAt`. Read the recording to follow it: `meeting.status` shows the bot, `asset` and',
      '`transcript` what comes of it. Speakers become `participants` with the names that the meeting shows.',
      '',
      'If a recording of the same meeting is active in the organization, whoever asked for it, the answer is that recording with `created: false`,',
      'and nothing changes. A meeting that has ended can be joined again. Different links of one meeting count as the same, as far as their',
      'text tells: a long and a short link of a Teams meeting do not.',
      '',
      'Passwords in the link are stored encrypted until the meeting is over, and are in no answer.',
    ].join('\n'),
    access: 'user',
    role: 'analyst',
    limit: 'meetingJoins',
    body: JoinMeeting,
    maxBodyBytes: MAX_JOIN_BYTES,
    example: { type: 'meetingUrl', joinUrl: 'https://zoom.us/j/1234567890?pwd=aGVsbG8.1' },
    success: { status: 201, description: 'The recording of the meeting', schema: MeetingJoin },
    errors: [
      'recording_not_permitted',
      'unsupported_meeting_url',
      'folder_not_found',
      'recorder_unavailable',
    ],
    async handler(call) {
      const also = recorded(call, 'recording.created', ({ recordingId }: Joined) => recordingId)
      const joined = await meetings.join(call.principal, call.body, also)
      return created(`${RECORDINGS}/${joined.recordingId}`, joined)
    },
  })

const leaveMeeting = (meetings: Meetings) =>
  operation({
    id: 'leaveMeeting',
    method: 'DELETE',
    path: `${JOINS}/{recordingId}`,
    params: { recordingId: uuidOf('recording') },
    tag: TAG,
    summary: 'Make the recorder leave a meeting',
    description:
      'The bot leaves, and what it recorded so far is kept. A bot that has not joined yet never does; `asset.status` is then `cancelled`. ' +
      'Repeating the request, also after the end of the meeting, changes nothing.',
    access: 'organizationOrUser',
    role: 'analyst',
    success: { status: 200, description: 'The meeting as it is now', schema: LeftMeeting },
    errors: ['recording_not_found', 'meeting_join_not_found'],
    async handler(call) {
      const id = call.id('recordingId', 'recording_not_found')
      const also = recorded(call, 'recording.meeting_left', () => id)
      const join = await meetings.leave(call.principal, id, also)
      const { platform, status, joinedAt, endedAt, recordingId } = join
      return ok({ id: join.id, recordingId, meeting: { platform, status, joinedAt, endedAt } })
    },
  })
