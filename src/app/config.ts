/**
 * The only reader of the environment. `settings/table.ts` declares each variable with its type and default.
 *
 * `loadConfig` turns environment variables into one frozen object, or throws a `ConfigError` whose message is a
 * single line that names the variable, its value and what is allowed. Values of secret variables are never
 * repeated. Worker threads are handed the object, they do not read the environment again.
 */

import { resolve } from 'node:path'
import type { Config } from '../kernel/config.ts'
import { type Machine, readMachine } from '../platform/lifecycle/machine.ts'
import { isBlock } from '../platform/net/address-blocks.ts'
import { isHeaderAddress } from '../platform/validation/email-address.ts'
import { capacityOf } from './settings/machine.ts'
import { openIdConfig } from './settings/openid.ts'
import { ConfigError, type Environment, fail, reader } from './settings/reader.ts'
import { recorderConfig } from './settings/recorder.ts'
import { s3Config } from './settings/s3.ts'
import { SETTINGS } from './settings/table.ts'
import { transcribeConfig } from './settings/transcribe.ts'

export { ConfigError }

/**
 * Reads and checks every variable.
 * @throws ConfigError with one line: variable, value, what is allowed.
 */
export function loadConfig(env: Environment, machine: Machine = readMachine()): Config {
  const read = reader(env)
  const capacity = capacityOf(machine)
  const openId = openIdConfig(read)
  const analyzeUrl = read.url('ANALYZE_URL')
  const databaseDirectUrl = read.databaseUrl('DATABASE_DIRECT_URL')
  const config: Omit<Config, 'transcribe'> = {
    role: read.oneOf('ROLE', SETTINGS.ROLE.default),
    host: read.textOrDefault('HOST'),
    port: read.integer('PORT'),
    drainMs: read.integer('DRAIN_SECONDS') * 1_000,
    dataDir: resolve(read.textOrDefault('DATA_DIR')),
    secretKey: read.secret('SECRET_KEY'),
    publicBaseUrl: read.url('PUBLIC_BASE_URL'),
    databaseUrl: read.databaseUrl('DATABASE_URL'),
    databaseDirectUrl,
    databasePrepare: read.oneOf('DATABASE_PREPARE', databaseDirectUrl === null ? 'true' : 'false') === 'true',
    databasePoolSize: read.integer('DATABASE_POOL_SIZE', capacity.databasePoolSize),
    databaseStatementTimeoutMs: read.integer('DATABASE_STATEMENT_TIMEOUT') * 1_000,
    databaseWaitMs: read.integer('DATABASE_WAIT') * 1_000,
    redisUrl: read.redisUrl(),
    trustedProxies: cidrList('TRUSTED_PROXIES', read.text('TRUSTED_PROXIES')),
    outboundAllow: cidrList('OUTBOUND_ALLOW', read.text('OUTBOUND_ALLOW')),
    websiteOrigins: originList(read.text('WEBSITE_ORIGINS')),
    contentDir: absolute(read.text('CONTENT_DIR')),
    oidc: openId.tokens,
    openId: openId.signIn,
    analyze:
      analyzeUrl === null
        ? null
        : analyzer(analyzeUrl, read.text('ANALYZE_MODEL'), read.text('ANALYZE_API_KEY')),
    analyzeTokensPerDay: read.integer('ANALYZE_TOKENS_PER_DAY'),
    recorder: recorderConfig(read),
    meetings: {
      pollSeconds: read.integer('RECORDER_POLL'),
      callSeconds: read.integer('RECORDER_TIMEOUT'),
      joinSeconds: read.integer('MEETING_JOIN_TIMEOUT'),
      waitingRoomSeconds: read.integer('MEETING_WAITING_ROOM_TIMEOUT'),
      recordingSeconds: read.integer('MEETING_RECORDING_TIMEOUT'),
      processingSeconds: read.integer('MEETING_PROCESSING_TIMEOUT'),
      deletesCopies: read.oneOf('RECORDER_DELETE', SETTINGS.RECORDER_DELETE.default) === 'true',
    },
    s3: s3Config(read),
    ffprobePath: read.text('FFPROBE_PATH'),
    ffmpegPath: read.text('FFMPEG_PATH'),
    mail: {
      ...mail(read.url('SMTP_URL'), read.text('MAIL_FROM'), read.text('TEAM_EMAIL')),
      smtpAllowPlain: read.oneOf('SMTP_ALLOW_PLAIN', SETTINGS.SMTP_ALLOW_PLAIN.default) === 'true',
    },
    webhookLogDays: read.integer('WEBHOOK_LOG_DAYS'),
    maxWaitingUploads: read.integer('MAX_WAITING_UPLOADS'),
    auditDays: read.integer('AUDIT_DAYS'),
    workerThreads: read.integer('WORKER_THREADS', capacity.workerThreads),
    capacity,
    warmUp: read.oneOf('WARM_UP', SETTINGS.WARM_UP.default) === 'true',
    maxBodyBytesAtOnce: read.integer('MAX_BODIES_MB', capacity.bodiesMb) * 1024 * 1024,
    bodyTimeoutMs: read.integer('BODY_TIMEOUT') * 1000,
    quotas: {
      mediaBytes: limitOrNone(read.integer('QUOTA_MEDIA_GB') * BYTES_PER_GB),
      events: limitOrNone(read.integer('QUOTA_EVENTS')),
    },
    logLevel: read.oneOf('LOG_LEVEL', SETTINGS.LOG_LEVEL.default),
    rateLimits: {
      reads: read.integer('RATE_LIMIT_READS'),
      writes: read.integer('RATE_LIMIT_WRITES'),
      agentIngest: read.integer('RATE_LIMIT_AGENT_INGEST'),
      feedback: read.integer('RATE_LIMIT_FEEDBACK'),
      tools: read.integer('RATE_LIMIT_TOOLS'),
      meetingJoins: read.integer('RATE_LIMIT_MEETING_JOINS'),
      recorderHooks: read.integer('RATE_LIMIT_RECORDER_HOOKS'),
      failedAuthentication: read.integer('RATE_LIMIT_FAILED_AUTHENTICATION'),
      websiteReads: read.integer('RATE_LIMIT_WEBSITE_READS'),
      assistant: read.integer('RATE_LIMIT_ASSISTANT'),
      forms: read.integer('RATE_LIMIT_FORMS'),
      widgetKey: read.integer('RATE_LIMIT_WIDGET_KEY'),
      widgetAddress: read.integer('RATE_LIMIT_WIDGET_ADDRESS'),
      signIn: read.integer('RATE_LIMIT_SIGN_IN'),
    },
  }
  if (config.role === 'worker' && config.databaseUrl === null) {
    throw new ConfigError(
      'DATABASE_URL is not set, but ROLE=worker needs it: a worker joins a running service',
    )
  }
  if (config.databaseDirectUrl !== null && config.databaseUrl === null)
    throw new ConfigError('DATABASE_URL is not set, but must name the pooler when DATABASE_DIRECT_URL is set')
  // Last: the environment of a command leaves out every variable that was read before.
  return deepFreeze({ ...config, transcribe: transcribeConfig(read) })
}

const BYTES_PER_GB = 1_000_000_000
const limitOrNone = (value: number) => (value === 0 ? null : value)
const absolute = (path: string | null) => (path === null ? null : resolve(path))

function cidrList(name: 'TRUSTED_PROXIES' | 'OUTBOUND_ALLOW', value: string | null): readonly string[] {
  const list = commaList(value)
  for (const cidr of list) {
    if (!isBlock(cidr)) fail(name, cidr, 'a comma-separated list of CIDR blocks, such as 10.0.0.0/8')
  }
  return list
}

function originList(value: string | null): readonly string[] {
  const list = commaList(value)
  for (const origin of list) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin)
      fail('WEBSITE_ORIGINS', origin, 'a comma-separated list of origins, such as https://www.example.com')
  }
  return list
}

function commaList(value: string | null): readonly string[] {
  return (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
}

function analyzer(url: string, model: string | null, apiKey: string | null) {
  if (model === null)
    throw new ConfigError('ANALYZE_MODEL is not set, but must name the model when ANALYZE_URL is set')
  return { url, model, apiKey }
}

const SENDER = /^(?:([^<>"\p{Cc}]*)<([^<>]*)>|([^<>]*))$/u

function mail(
  smtpUrl: string | null,
  from: string | null,
  teamEmail: string | null,
): Omit<Config['mail'], 'smtpAllowPlain'> {
  if (smtpUrl !== null && from === null)
    throw new ConfigError('MAIL_FROM is not set, but must be the sender of mails when SMTP_URL is set')
  if (teamEmail !== null && !isHeaderAddress(teamEmail)) fail('TEAM_EMAIL', teamEmail, 'an e-mail address')
  const text = from ?? 'Earshot <earshot@localhost>'
  const [, name = '', inBrackets, alone] = SENDER.exec(text) ?? []
  const address = inBrackets ?? alone ?? ''
  if (!isHeaderAddress(address))
    fail('MAIL_FROM', text, 'an e-mail address, such as "Earshot <earshot@example.com>"')
  // Mails that become files reach no one, so any address will do.
  const team = teamEmail ?? (smtpUrl === null ? 'team@localhost' : null)
  return { smtpUrl, from: { name: name.trim(), address }, teamEmail: team }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) deepFreeze(member)
    Object.freeze(value)
  }
  return value
}
