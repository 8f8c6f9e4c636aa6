/**
 * Structured logs: one JSON object a line on standard error.
 *
 * The rule: no credential, no body and no query string is ever handed to the logger. The redaction list below is
 * the second line of defence, not the first.
 */
import { destination, type Logger, pino } from 'pino'
import type { Config } from '../../config.ts'

export type Log = Logger

const REDACTED = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'apiKey',
  'headers.authorization',
  'headers["x-service-api-key"]',
  'headers["x-service-agent-key"]',
  // What PostgreSQL adds to an error repeats the row that it refused.
  'err.detail',
  'err.where',
  'err.internal_query',
]

/** A logger whose lines carry `name`; synchronous, so that the last line before a crash is not lost. */
export function createLog(level: Config['logLevel'], name: string): Log {
  return pino(
    {
      level,
      base: { name },
      redact: { paths: REDACTED, censor: '[redacted]' },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    destination({ dest: 2, sync: true }),
  )
}
