/** Checks of a request to join, as far as the request alone allows. Pure. */
import { AppError } from '../../platform/errors.ts'
import { DATE_TIME_EXAMPLE } from '../../platform/validation/formats.ts'
import { invalid } from '../../platform/validation/json.ts'
import { nameOf } from '../../platform/validation/names.ts'
import { toUtc } from '../../platform/validation/rfc3339.ts'
import { DEFAULT_BOT_NAME, type JoinMeeting, MAX_BOT_NAME } from './model.ts'
import type { Recorder } from './recorder.ts'
import { identifyMeeting, type MeetingAddress, type Platform } from './url.rules.ts'

const MOST_AHEAD_MS = 366 * 86_400_000

const NAMES: Readonly<Record<Platform, string>> = {
  zoom: 'Zoom',
  google_meet: 'Google Meet',
  teams: 'Microsoft Teams',
  webex: 'Webex',
}

export interface JoinDraft {
  readonly address: MeetingAddress
  /** null: at once. */
  readonly joinAt: Date | null
  readonly displayName: string | null
  readonly botName: string
  readonly folderIds: readonly string[]
}

/** @throws AppError 400 */
export function draftOf(body: JoinMeeting, now: Date): JoinDraft {
  const { displayName, botName, folderIds = [] } = body
  return {
    joinAt: joinAtOf(body.joinAt ?? null, now),
    displayName: typeof displayName === 'string' ? nameOf('displayName', displayName) : null,
    botName: botName === undefined ? DEFAULT_BOT_NAME : botNameOf(botName),
    folderIds,
    address: addressOf(body.joinUrl),
  }
}

/** @throws AppError 400 `unsupported_meeting_url` if this recorder cannot join the meeting */
export function assertSupported(
  { platform, identity }: MeetingAddress,
  { name, platforms }: Pick<Recorder, 'name' | 'platforms'>,
): void {
  if (!platforms.includes(platform))
    throw unsupported(`is a meeting of ${NAMES[platform]}, which the configured recorder cannot join.`)
  if (name === 'recall') return
  // Recorders that drive the meeting page need the number or the code.
  if (identity.includes('://'))
    throw unsupported(
      'is a personal link or a nickname, which the configured recorder cannot join. Send the link with the number or the code of the meeting.',
    )
}

function addressOf(joinUrl: string): MeetingAddress {
  const found = identifyMeeting(joinUrl)
  if ('refused' in found) throw unsupported(found.refused)
  return found
}

/** The message never repeats the link: it may contain a password. */
function unsupported(reason: string): AppError {
  const details = [{ path: 'joinUrl', code: 'unsupported_meeting_url', message: reason }] as const
  return new AppError('unsupported_meeting_url', `joinUrl ${reason}`, { details })
}

function joinAtOf(text: string | null, now: Date): Date | null {
  if (text === null) return null
  const utc = toUtc(text)
  if (utc === null) {
    const message = `must be ${DATE_TIME_EXAMPLE}`
    throw invalid([{ path: 'joinAt', code: 'date_time', message }])
  }
  const moment = new Date(utc)
  if (moment.getTime() > now.getTime() + MOST_AHEAD_MS)
    throw invalid([{ path: 'joinAt', code: 'range', message: 'must be at most a year ahead' }])
  return moment > now ? moment : null
}

function botNameOf(text: string): string {
  const name = text.trim()
  const length = [...name].length
  if (length === 0) throw invalid([{ path: 'botName', code: 'blank', message: 'must not be blank' }])
  if (length > MAX_BOT_NAME) {
    const message = `must have at most ${MAX_BOT_NAME} characters`
    throw invalid([{ path: 'botName', code: 'length', message }])
  }
  return name
}
