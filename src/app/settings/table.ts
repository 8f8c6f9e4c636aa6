/**
 * Every environment variable of the service: its type, its default and what it does. `config.ts` reads the values by these
 * declarations, and `bun run docs` writes docs/settings.md from them.
 */
import { BUCKET_SETTINGS } from './bucket.ts'
import { integer, type Setting, text, textOr, url, WEB } from './kinds.ts'
import { LIMIT_SETTINGS } from './limits.ts'
import { MEETING_SETTINGS } from './meetings.ts'

/** The settings by group, in the order of the page. */
export const SETTING_GROUPS = {
  Service: {
    ROLE: {
      kind: 'choice',
      allowed: ['all', 'api', 'worker'],
      default: 'all',
      text: 'What this process does: answer requests (`api`), work in the background (`worker`), or both.',
    },
    HOST: textOr('address', '0.0.0.0', 'The address to listen on.'),
    PORT: integer(3_000, 0, 65_535, 'The port to listen on; 0 picks a free one.'),
    DRAIN_SECONDS: integer(
      5,
      0,
      600,
      'Seconds that a process serves on after SIGTERM while `GET /ready` is 503, so that a proxy notices before the port closes. SIGINT (Ctrl-C) ends it without this wait. See [Start and stop](operating.md#start-and-stop).',
    ),
    DATA_DIR: textOr(
      'folder',
      '.data',
      'Folder for the embedded servers, media, mail, keys and demo credentials.',
    ),
    SECRET_KEY: text(
      'at least 43 characters',
      'keys are created in `DATA_DIR/keys`',
      'Upload URLs and the service’s own user tokens are signed with keys derived from this secret. Set the same value for every process if the machines do not share `DATA_DIR`. `openssl rand -base64 32` creates one.',
    ),
    PUBLIC_BASE_URL: url(
      WEB,
      'from the request',
      'Scheme, host, port and prefix of every absolute URL in an answer.',
    ),
    TRUSTED_PROXIES: text(
      'CIDR list',
      'none',
      'Comma-separated address blocks, such as `10.0.0.0/8`. `X-Forwarded-For` and `Forwarded` count only if they come from these.',
    ),
    OUTBOUND_ALLOW: text(
      'CIDR list',
      'none',
      'Comma-separated blocks of private or reserved addresses that requests to the servers of customers may reach: media by URL, webhooks, meeting recorders, metadata documents of clients. Set it for servers in your own network, and for development (`127.0.0.0/8`). Customers may not give names such as `localhost` or `*.internal`, but settings may.',
    ),
    WEBHOOK_LOG_DAYS: integer(
      30,
      1,
      3_650,
      'Days for which events and deliveries of webhooks are kept. See [Webhooks](webhooks.md).',
    ),
    LOG_LEVEL: {
      kind: 'choice',
      allowed: ['debug', 'info', 'warn', 'error', 'silent'],
      default: 'info',
      text: 'The lowest level that is logged. Logs are JSON lines on standard error.',
    },
  },
  'Database and Redis': {
    DATABASE_URL: url(
      ['postgres:', 'postgresql:'],
      'embedded PostgreSQL',
      'PostgreSQL 15 or newer. Several hosts are tried in turn: `postgres://user@h1:5432,h2:5432/db`. `target_session_attrs` is `primary` unless the URL has another. TLS and sockets as libpq has them: see [Self-hosting](self-hosting.md#tls-to-postgresql-and-redis). `ROLE=worker` needs it.',
    ),
    DATABASE_DIRECT_URL: url(
      ['postgres:', 'postgresql:'],
      '`DATABASE_URL` names the server',
      'The PostgreSQL server, if `DATABASE_URL` names a connection pooler such as PgBouncer. Migrations and notifications use it. See [Self-hosting](self-hosting.md#behind-a-connection-pooler).',
    ),
    DATABASE_PREPARE: {
      kind: 'choice',
      allowed: ['true', 'false'],
      shown: '`false` with `DATABASE_DIRECT_URL`, else `true`',
      text: 'Prepare each statement once for each connection. A pooler that pools transactions must support it; PgBouncer does from 1.21, with `max_prepared_statements`.',
    },
    DATABASE_POOL_SIZE: integer(
      10,
      2,
      1000,
      'Connections of one process and of each of its threads. A process that answers requests opens up to half as many again for reads. An organization holds at most as many as it leaves free for others, so alone at most half. While others write, what it began in the last half second holds at most a fifth, and two at least.',
      '`10`; `3` on a [small machine](self-hosting.md#how-large-a-machine)',
    ),
    DATABASE_STATEMENT_TIMEOUT: integer(
      30,
      1,
      3_600,
      'Seconds that a statement may take. A connection that stays silent for another 2 s is dropped.',
    ),
    DATABASE_WAIT: integer(
      60,
      0,
      86_400,
      'Seconds that a start waits for a database server that is away or still starting. It logs a line every 10 seconds. After that the process exits with code 1; it exits at once if the server refuses the password or has no such database.',
    ),
    REDIS_URL: url(
      ['redis:', 'rediss:', 'redis+unix:'],
      'embedded if `redis-server` or `valkey-server` is on the `PATH`',
      'Redis 6.2 or newer, or Valkey. Run it with `maxmemory-policy noeviction`.',
    ),
    REDIS_TLS_CA: text(
      'file',
      'the authorities that the process trusts',
      'PEM file of the authority that signed the certificate of a `rediss://` server.',
    ),
    REDIS_TLS_CERT: text(
      'file',
      'none',
      'PEM file of the certificate of the service, for a Redis that asks for one.',
    ),
    REDIS_TLS_KEY: text('file', 'none', 'PEM file of the key of `REDIS_TLS_CERT`.'),
    AUDIT_DAYS: integer(
      90,
      1,
      3_650,
      'Days for which the audit log is kept. See [Administration](administration.md).',
    ),
    WORKER_THREADS: integer(
      8,
      1,
      64,
      'Threads of this process that work in the background.',
      'the processors that the process may use, at most 8 and at most one for 768 MiB of memory',
    ),
    WARM_UP: {
      kind: 'choice',
      allowed: ['true', 'false'],
      default: 'true',
      text: 'Warm up after each start, so that the first conversations are as fast as later ones. `false` spares the two seconds of CPU that this takes; the first conversations then take longer.',
    },
  },
  'Media and object store': {
    ...BUCKET_SETTINGS,
    FFMPEG_PATH: text(
      'file',
      'the one on the `PATH`, else the one of `@ffmpeg-installer`',
      'The program that makes media playable in browsers and draws waveforms and posters. The packages are from 2018: install FFmpeg if media comes from strangers. The single executable contains none; without FFmpeg, media stays as it came.',
    ),
    FFPROBE_PATH: text(
      'file',
      'the one on the `PATH`, else the one of `ffprobe-static`',
      'The program that examines media. The single executable contains none, and the package has none for Linux on ARM.',
    ),
    MAX_WAITING_UPLOADS: integer(
      1_000,
      0,
      100_000_000,
      'Uploads of one organization that may wait for bytes at a time. One more is 429 `too_many_uploads`. 0 switches the limit off.',
    ),
  },
  'Transcription and analysis': {
    TRANSCRIBE_URL: url(
      WEB,
      'nothing transcribes',
      'An OpenAI-compatible server (`POST /v1/audio/transcriptions`) that turns speech into text. See [Transcription](transcription.md).',
    ),
    TRANSCRIBE_MODEL: text('name', 'none', 'The model. Required with `TRANSCRIBE_URL`.'),
    TRANSCRIBE_API_KEY: text('text', 'none', 'The key for that server, if it asks for one.'),
    TRANSCRIBE_COMMAND: text(
      'command line',
      'nothing transcribes',
      'A program on this machine instead of a server. See [Transcription](transcription.md).',
    ),
    ANALYZE_URL: url(
      WEB,
      'built-in analyser',
      'An OpenAI-compatible chat server for qualitative signals, summaries and the assistant of the website.',
    ),
    ANALYZE_MODEL: text('name', 'none', 'The model. Required with `ANALYZE_URL`.'),
    ANALYZE_API_KEY: text('text', 'none', 'The key for that server, if it asks for one.'),
    ANALYZE_TOKENS_PER_DAY: integer(
      10_000_000,
      0,
      1_000_000_000_000,
      'Tokens of that server that findings of one organization may cost in a day (UTC); 0: any number. A short conversation costs about 1,500. Beyond it the built-in analyser reads, and the server reads again on a later day. Summaries, titles of themes and the assistant do not count.',
    ),
  },
  Meetings: MEETING_SETTINGS,
  'Sign-in': {
    OIDC_ISSUER: url(
      WEB,
      'the service signs user tokens itself',
      'An OpenID Connect issuer. With `OIDC_AUDIENCE` it signs user access tokens instead of the service. With `OIDC_CLIENT_ID` people sign in with it. See [Sign-in](sign-in.md).',
    ),
    OIDC_AUDIENCE: text(
      'text',
      'none',
      'The expected audience of access tokens of the issuer. Required with `OIDC_ISSUER`, unless `OIDC_CLIENT_ID` is set.',
    ),
    OIDC_JWKS_URL: url(WEB, 'none', 'The key set of the issuer. Required with `OIDC_AUDIENCE`.'),
    OIDC_CLIENT_ID: text('text', 'none', 'The id of this service at the issuer: people sign in with it.'),
    OIDC_CLIENT_SECRET: text(
      'text',
      'none: a public client',
      'The secret of this service at the issuer. PKCE is used in any case.',
    ),
    OIDC_TRUST_EMAIL: {
      kind: 'choice',
      allowed: ['true', 'false'],
      default: 'false',
      text: 'Take the e-mail address of a provider that never says whether it is verified. Only for a provider at which nobody can choose an own address.',
    },
    OIDC_ALLOWED_DOMAINS: text(
      'domain list',
      'none: only known users sign in',
      'Comma-separated domains, such as `example.com`. A person with a verified e-mail address there who is unknown becomes a viewer of `OIDC_ORGANIZATION`.',
    ),
    OIDC_ORGANIZATION: text(
      'id',
      'none',
      'The organization that unknown people join. Required with `OIDC_ALLOWED_DOMAINS`.',
    ),
  },
  'Website and mail': {
    CONTENT_DIR: text(
      'folder',
      'pages about Earshot',
      'Folder of Markdown files with `title` and `description` as front matter. They are the pages of the website and what its assistant knows.',
    ),
    WEBSITE_ORIGINS: text(
      'origin list',
      'none',
      'Comma-separated origins whose pages may call the website API from a browser.',
    ),
    SMTP_URL: url(
      ['smtp:', 'smtps:'],
      'files in `DATA_DIR/mail`',
      'Mail server, such as `smtp://user:password@mail.example.com:587`.',
    ),
    SMTP_ALLOW_PLAIN: {
      kind: 'choice',
      allowed: ['true', 'false'],
      default: 'false',
      text: 'Send the user name and the password in `SMTP_URL`, and the mails, without encryption if the server offers none. `false`: such mail waits, and `earshot doctor` says so.',
    },
    MAIL_FROM: text(
      'e-mail address',
      '`Earshot <earshot@localhost>`',
      'Sender of mails. Required with `SMTP_URL`.',
    ),
    TEAM_EMAIL: text(
      'e-mail address',
      'none with `SMTP_URL`, else `team@localhost`',
      'Receives a mail about each submitted form and each webhook that the service disabled.',
    ),
  },
  Limits: LIMIT_SETTINGS,
} as const satisfies Readonly<Record<string, Readonly<Record<string, Setting>>>>

type Groups = typeof SETTING_GROUPS
type UnionToIntersection<U> = (U extends unknown ? (value: U) => void : never) extends (
  value: infer I,
) => void
  ? I
  : never
type All = UnionToIntersection<Groups[keyof Groups]>

/** Every setting by its name. */
export const SETTINGS = Object.assign({}, ...Object.values(SETTING_GROUPS)) as All

/** Names of the settings of a kind, such as `'PORT' | 'BODY_TIMEOUT'` for `integer`. */
export type NameOf<K extends Setting['kind']> = {
  [N in keyof All]: All[N] extends { readonly kind: K } ? N : never
}[keyof All]

/** The words that a choice allows. */
export type ChoiceOf<N extends NameOf<'choice'>> = All[N]['allowed'][number]
