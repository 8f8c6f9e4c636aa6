/** Settings that limit what one caller may send. */
import { integer, perMinute, type Setting } from './kinds.ts'

export const LIMIT_SETTINGS = {
  RATE_LIMIT_READS: perMinute(
    6_000,
    'Reads of one caller a minute. 0 switches this limit and each of the following off.',
  ),
  RATE_LIMIT_WRITES: perMinute(3_000, 'Writes of one caller a minute.'),
  RATE_LIMIT_AGENT_INGEST: perMinute(60_000, 'Ingestion requests of one agent application a minute.'),
  RATE_LIMIT_FEEDBACK: perMinute(
    100,
    'Requests of one organization a minute that create feedback sources, people or records, all together.',
  ),
  RATE_LIMIT_TOOLS: perMinute(600, 'Requests of one user a minute to the tools of coding agents (`/mcp`).'),
  RATE_LIMIT_MEETING_JOINS: perMinute(10, 'Meeting joins of one user a minute.'),
  RATE_LIMIT_RECORDER_HOOKS: perMinute(3_000, 'Webhooks of recorders from one client address a minute.'),
  RATE_LIMIT_FAILED_AUTHENTICATION: perMinute(30, 'Refused credentials of one client address a minute.'),
  RATE_LIMIT_WEBSITE_READS: perMinute(300, 'Reads of the website API for one client address a minute.'),
  RATE_LIMIT_ASSISTANT: perMinute(30, 'Questions to the assistant for one client address a minute.'),
  RATE_LIMIT_WIDGET_KEY: perMinute(600, 'Requests with one publishable key a minute.'),
  RATE_LIMIT_WIDGET_ADDRESS: perMinute(60, 'Requests of one client address a minute with publishable keys.'),
  RATE_LIMIT_FORMS: perMinute(
    20,
    'Submitted forms for one client address a minute, by the website API and by the widget.',
  ),
  RATE_LIMIT_SIGN_IN: perMinute(
    10,
    'Requests of one client address a minute that ask for a sign-in link by mail, use a link that does not work, start OpenID Connect, register an OAuth client, begin an authorization, or name a client whose metadata document must be fetched.',
  ),
  QUOTA_MEDIA_GB: integer(
    0,
    0,
    1_000_000_000,
    'GB (10⁹ bytes) of media that one organization may store; 0: any number. Beyond it uploads and media by URL are 507 `quota_exceeded`. `earshot org set` gives one organization another figure. See [Quotas](operating.md#quotas).',
  ),
  QUOTA_EVENTS: integer(
    0,
    0,
    1_000_000_000_000,
    'Events of conversations that one organization may store; 0: any number. Beyond it ingestion is 507 `quota_exceeded`.',
  ),
  MAX_BODIES_MB: integer(
    128,
    1,
    1_000_000,
    'MiB of JSON bodies that one process holds at a time. More are answered with 503 and `Retry-After`. One caller (an organization, or a client address of the website) may hold at most as much as is still free for others, so never more than half. Bodies that take longer than about 4 ms, by an estimate from their text, are parsed in two threads that callers share in turns. Compressed bodies are decompressed two at a time, of one caller one, and count what they become before it is made. With the default, bodies alone keep the whole process below 1 GiB. Uploads and answers do not count.',
    '`128`; `16` on a [small machine](self-hosting.md#how-large-a-machine)',
  ),
  BODY_TIMEOUT: integer(
    30,
    1,
    3_600,
    'Seconds in which the whole JSON body of a request must arrive. A slower one is 408 `body_too_slow`. Uploads do not count.',
  ),
} as const satisfies Readonly<Record<string, Setting>>
