/**
 * The only reader of the environment. `settings/table.ts` declares each variable with its type and default.
 *
 * `loadConfig` turns environment variables into one frozen object, or throws a `ConfigError` whose message is a
 * single line that names the variable, its value and what is allowed. Values of secret variables are never
 * repeated. Worker threads are handed the object, they do not read the environment again.
 */

import { resolve } from 'node:path'
import { type Machine, readMachine } from '../platform/lifecycle/machine.ts'
import { isBlock } from '../platform/net/address-blocks.ts'
import { isHeaderAddress } from '../platform/validation/email-address.ts'
import { type Capacity, capacityOf } from './settings/machine.ts'
import { type OpenIdConfig, openIdConfig } from './settings/openid.ts'
import { ConfigError, type Environment, fail, reader } from './settings/reader.ts'
import { type RecorderConfig, recorderConfig } from './settings/recorder.ts'
import { type S3Config, s3Config } from './settings/s3.ts'
import { SETTINGS } from './settings/table.ts'
import { type TranscribeConfig, transcribeConfig } from './settings/transcribe.ts'

export { ConfigError, type S3Config, type TranscribeConfig }

type Role = 'all' | 'api' | 'worker'

export interface Config {
  readonly role: Role
  readonly host: string
  readonly port: number
  /** How long a process serves on after SIGTERM. */
  readonly drainMs: number
  /** Absolute folder of everything kept by an embedded start: PostgreSQL, media, mail, keys. */
  readonly dataDir: string
  /** The keys that all processes share are derived from it. null: each key is created once, in `dataDir/keys`. */
  readonly secretKey: string | null
  /** Scheme, host, port and prefix of every absolute URL given out, without a trailing slash; null: derived from the request. */
  readonly publicBaseUrl: string | null
  /** null: embedded PostgreSQL under `dataDir`. */
  readonly databaseUrl: string | null
  /** The server behind the pooler that `databaseUrl` names. null: `databaseUrl` names the server. */
  readonly databaseDirectUrl: string | null
  readonly databasePrepare: boolean
  readonly databasePoolSize: number
  readonly databaseStatementTimeoutMs: number
  /** How long a start waits for a database server that is away. */
  readonly databaseWaitMs: number
  /** null: an embedded Redis where a server binary exists, else none. */
  readonly redisUrl: string | null
  /** CIDR blocks whose `X-Forwarded-For` / `Forwarded` is believed. */
  readonly trustedProxies: readonly string[]
  /** CIDR blocks of addresses that are not public, to which requests may go nevertheless. */
  readonly outboundAllow: readonly string[]
  /** Origins whose pages may call the website API from a browser, as the browser writes them. */
  readonly websiteOrigins: readonly string[]
  /** Absolute folder of Markdown files that take the place of the embedded pages of the website; null: none. */
  readonly contentDir: string | null
  /** Who makes user tokens; null: the service itself. */
  readonly oidc: OpenIdConfig['tokens']
  /** The OpenID Connect provider that people sign in with; null: none. */
  readonly openId: OpenIdConfig['signIn']
  /** OpenAI-compatible chat server for qualitative signals; null: the built-in local analyser. */
  /** Of the analysis server, for one organization. 0: any number. */
  readonly analyzeTokensPerDay: number
  readonly analyze: { readonly url: string; readonly model: string; readonly apiKey: string | null } | null
  /** Turns speech into text. null: nothing is transcribed; a recording keeps the transcript that came with it. */
  readonly transcribe: TranscribeConfig | null
  /** Joins meetings. null: no recorder is configured. */
  readonly recorder: RecorderConfig | null
  readonly meetings: MeetingsConfig
  /** null: media is kept in `dataDir/media`. */
  readonly s3: S3Config | null
  /** The program that examines media. null: `ffprobe` from PATH, or else the copy among the dependencies. */
  readonly ffprobePath: string | null
  /** The program that converts media. null: `ffmpeg` from PATH. */
  readonly ffmpegPath: string | null
  readonly mail: {
    /** null: mail is written into `dataDir/mail`. */
    readonly smtpUrl: string | null
    /** Send credentials to it over a connection that is not encrypted. */
    readonly smtpAllowPlain: boolean
    readonly from: { readonly name: string; readonly address: string }
    /** The address that is notified of submitted forms; null: none. */
    readonly teamEmail: string | null
  }
  /** Days for which events and deliveries of webhooks are kept. */
  readonly webhookLogDays: number
  /** Uploads of one organization that may wait for bytes at a time; 0: no limit. */
  readonly maxWaitingUploads: number
  readonly auditDays: number
  readonly workerThreads: number
  /** What follows the machine and has no setting. */
  readonly capacity: Capacity
  /** Warm up after the start; see `agents/warm-up.ts`. */
  readonly warmUp: boolean
  /** Bytes of all JSON bodies that one process holds at a time. */
  readonly maxBodyBytesAtOnce: number
  /** Time within which the whole JSON body of a request must arrive. */
  readonly bodyTimeoutMs: number
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** What one organization may store unless it has figures of its own; null: any number. */
  readonly quotas: { readonly mediaBytes: number | null; readonly events: number | null }
  /** Requests a minute; 0 switches the limit off. */
  readonly rateLimits: {
    readonly reads: number
    readonly writes: number
    readonly agentIngest: number
    /** Per organization, over the three operations that take feedback in. */
    readonly feedback: number
    /** Per user, to the tools of coding agents. */
    readonly tools: number
    /** Per user. */
    readonly meetingJoins: number
    /** Per client address. */
    readonly recorderHooks: number
    readonly failedAuthentication: number
    /** The website API, per client address: this one and the next two. */
    readonly websiteReads: number
    readonly assistant: number
    readonly forms: number
    /** Per publishable key. */
    readonly widgetKey: number
    /** Per client address, over all publishable keys. */
    readonly widgetAddress: number
    /** Per client address: mails with links, unusable links, sign-ins by OpenID Connect, and registrations of OAuth clients. */
    readonly signIn: number
  }
}

/** Times of meeting joins in seconds. */
export interface MeetingsConfig {
  readonly pollSeconds: number
  /** For one request to the recorder. */
  readonly callSeconds: number
  readonly joinSeconds: number
  readonly waitingRoomSeconds: number
  readonly recordingSeconds: number
  readonly processingSeconds: number
  /** Delete the recorder's copy once it is stored here. */
  readonly deletesCopies: boolean
}

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
