/** The settings that say which recorder joins meetings. */

import type { RecorderConfig } from '../../kernel/config.ts'
import { ConfigError, type reader } from './reader.ts'
import { SETTINGS } from './table.ts'

/** Null: no recorder is configured. */
export function recorderConfig(read: ReturnType<typeof reader>): RecorderConfig | null {
  const name = read.oneOf('RECORDER', SETTINGS.RECORDER.default)
  const url = read.url('RECORDER_URL')
  const apiKey = read.text('RECORDER_API_KEY')
  const webhookSecret = read.text('RECORDER_WEBHOOK_SECRET')
  if (name === 'none') return null
  if (url === null)
    throw new ConfigError(
      'RECORDER_URL is not set, but must be the address of the recorder when RECORDER is set',
    )
  if (apiKey === null)
    throw new ConfigError(
      'RECORDER_API_KEY is not set, but must be the key for the recorder when RECORDER is set',
    )
  return { name, url, apiKey, webhookSecret }
}
