/** Each driver with the fake of its recorder, connected through the real outbound policy. */
import { randomUUID } from 'node:crypto'
import type { JoinRequest, Recorder } from '../../../src/calls/meetings/recorder.ts'
import { createRecorder } from '../../../src/calls/meetings/recorders/create.ts'
import { createSendOutbound } from '../../../src/platform/net/outbound-request.ts'
import { createOutboundPolicy } from '../../../src/platform/net/outbound-url.ts'
import { startAttendee } from './attendee.ts'
import type { FakeRecorder } from './fake.ts'
import { startRecall } from './recall.ts'
import { startVexa } from './vexa.ts'

export const FAKES = { attendee: startAttendee, vexa: startVexa, recall: startRecall } as const
export type Name = keyof typeof FAKES

export const signal = new AbortController().signal

export interface DriverOptions {
  readonly deadlineMs?: number
  readonly now?: () => Date
  readonly allow?: readonly string[]
  readonly webhookSecret?: string | null
  readonly apiKey?: string
  readonly url?: string
}

export function driverOf(
  name: Name,
  { settings }: Pick<FakeRecorder, 'settings'>,
  { allow = ['127.0.0.1/32'], deadlineMs = 5_000, now, ...changed }: DriverOptions = {},
): Recorder {
  const send = createSendOutbound({ policy: createOutboundPolicy(allow) })
  return createRecorder(
    { name, ...settings, ...changed },
    { send, deadlineMs, ...(now === undefined ? {} : { now }) },
  )
}

export function joinRequest(changed: Partial<JoinRequest> = {}): JoinRequest {
  return {
    joinId: randomUUID(),
    meetingUrl: 'https://zoom.us/j/12345678901?pwd=pass4word',
    platform: 'zoom',
    botName: 'Earshot',
    joinAt: null,
    nudgeUrl: null,
    ...changed,
  }
}

/** The error that the work ends with. */
export async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  )
}
