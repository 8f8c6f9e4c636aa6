/** The settings of a process as one frozen object. `app/config.ts` reads it from the environment. */
import type { LogLevel } from '../platform/observability/log.ts'
import type { S3Config } from '../platform/storage/s3-config.ts'

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
  readonly logLevel: LogLevel
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

export interface OpenIdConfig {
  /** The issuer that makes user tokens; null: the service itself. */
  readonly tokens: { readonly issuer: string; readonly audience: string; readonly jwksUrl: string } | null
  /** The provider that people sign in with; null: none. */
  readonly signIn: {
    readonly issuer: string
    readonly clientId: string
    /** null: a public client. */
    readonly clientSecret: string | null
    /** Whether an address counts of which the provider does not say whether it is verified. */
    readonly trustEmail: boolean
    /** Unknown people with a verified e-mail address in one of the domains join the organization; null: nobody does. */
    readonly newUsers: { readonly domains: readonly string[]; readonly organizationId: string } | null
  } | null
}

export interface RecorderConfig {
  readonly name: 'attendee' | 'vexa' | 'recall'
  /** Without a trailing slash. */
  readonly url: string
  readonly apiKey: string
  /** null: no webhook is accepted, and the recorder is only polled. */
  readonly webhookSecret: string | null
}

/** An OpenAI-compatible server, or a program of this machine. */
export type TranscribeConfig =
  | {
      readonly kind: 'server'
      readonly url: string
      readonly model: string
      readonly apiKey: string | null
    }
  | {
      readonly kind: 'command'
      /** The program and its arguments. */
      readonly command: readonly string[]
      /** The environment of the program: that of the service without its settings. */
      readonly environment: Readonly<Record<string, string>>
    }

export interface Capacity {
  readonly workerThreads: number
  readonly databasePoolSize: number
  readonly bodiesMb: number
  /** Threads for requests with long work. */
  readonly requestThreads: number
  /** Processes for texts. With one, background analyses share it. */
  readonly textProcesses: number
  /** Media that a worker thread converts at the same time. */
  readonly mediaSlots: number
  /** The memory from which the engine derives when to collect garbage. Null: that of the machine. */
  readonly heapBytes: number | null
  /** Settings of the embedded PostgreSQL. */
  readonly postgres: 'usual' | 'small'
}
