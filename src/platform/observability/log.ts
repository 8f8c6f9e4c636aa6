/**
 * Structured logs: one JSON object per line on standard error.
 *
 * Code must never pass a credential, a body or a query string to the logger. The redaction list below is only a second line
 * of defence.
 */
import { destination, type Logger, pino } from 'pino'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

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
  // These parts of a PostgreSQL error contain the refused row.
  ...['err', 'err.cause', 'err.cause.cause'].flatMap((err) => [
    `${err}.detail`,
    `${err}.where`,
    `${err}.internal_query`,
  ]),
]

/** A logger whose lines contain `name`. It is synchronous, so that the last line before a crash is not lost. */
export function createLog(level: LogLevel, name: string): Log {
  return pino(
    {
      level,
      base: { name },
      // A cause has a place of its own: many messages repeat its text already.
      serializers: { err: pino.stdSerializers.errWithCause },
      redact: { paths: REDACTED, censor: '[redacted]' },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    destination({ dest: 2, sync: true }),
  )
}
