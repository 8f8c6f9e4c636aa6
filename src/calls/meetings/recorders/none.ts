/** No recorder is configured: nothing joins, and every webhook is refused. */
import { type Recorder, RecorderError } from '../recorder.ts'

export function createNone(): Recorder {
  const refuse = async () => {
    throw new RecorderError('no recorder is configured', 'terminal')
  }
  return {
    name: 'none',
    platforms: [],
    join: refuse,
    find: async () => null,
    status: refuse,
    leave: refuse,
    media: refuse,
    transcript: refuse,
    deleteData: refuse,
    verifyNudge: () => null,
  }
}
