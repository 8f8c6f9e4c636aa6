/** The recorder that the settings name. */
import type { Recorder } from '../recorder.ts'
import { createAttendee } from './attendee.ts'
import { createNone } from './none.ts'
import { createRecall } from './recall.ts'
import type { DriverDeps, RecorderSettings } from './settings.ts'
import { createVexa } from './vexa.ts'

const DRIVERS = { attendee: createAttendee, vexa: createVexa, recall: createRecall } as const
const DEADLINE_MS = 15_000

/** @param config null: no recorder */
export function createRecorder(
  config: (RecorderSettings & { readonly name: keyof typeof DRIVERS }) | null,
  { send, now = () => new Date(), deadlineMs = DEADLINE_MS }: Pick<DriverDeps, 'send'> & Partial<DriverDeps>,
): Recorder {
  return config === null ? createNone() : DRIVERS[config.name](config, { send, now, deadlineMs })
}
