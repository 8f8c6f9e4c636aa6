/** The options of the client and of a session, and what requests are made of them. */
import type { SessionMembers } from './queue.ts'
import type { EarshotError, Fetch } from './sender.ts'

/** `url`, `agentKey` and `secret` are required, as options or in the environment. */
export interface EarshotOptions {
  /** Address of the service. Default: `EARSHOT_URL`. */
  readonly url?: string
  /** Key of the application. Default: `EARSHOT_AGENT_KEY`. */
  readonly agentKey?: string
  /** Secret of the application (`eas_…`). Default: `EARSHOT_SECRET`. */
  readonly secret?: string
  /** Changes every text before it is queued, such as to remove names. Events whose text it fails on are dropped. */
  readonly redact?: (text: string) => string
  /** Gets what goes wrong. The application need not do anything. Default: each kind of error is written to the console once. */
  readonly onError?: (error: EarshotError) => void
  /** Keeps a serverless function alive until the promise settles, such as `context.waitUntil`. */
  readonly waitUntil?: (work: Promise<unknown>) => void
  /** Path of a file that keeps unsent events when the process is killed (Node, Bun, Deno). One process a file. */
  readonly spool?: string
  /** Most events that wait. Default: 10,000. */
  readonly maxEvents?: number
  /** Most bytes that wait. Default: 16 MiB. */
  readonly maxBytes?: number
  /** Sessions that send at the same time. Default: 4. */
  readonly concurrency?: number
  /** Milliseconds in which more events join a request. Default: 20. */
  readonly delayMs?: number
  /** Milliseconds for one request. Default: 30,000. */
  readonly timeoutMs?: number
  /** Milliseconds that an ending process waits for the queue. Default: 5,000. */
  readonly exitMs?: number
  /** In place of the global one. */
  readonly fetch?: Fetch
}

/** Who speaks with the agent. */
export interface Person {
  /** The application's id of the person. */
  readonly externalId: string
  readonly displayName?: string
  readonly username?: string
  readonly email?: string
  readonly companyExternalId?: string
  readonly boundary?: 'external' | 'internal'
}

/** The names that the Python SDK had. They go with the next version. */
interface DeprecatedPerson {
  /** @deprecated `externalId` */
  readonly id?: string
  /** @deprecated `displayName` */
  readonly name?: string
  /** @deprecated `companyExternalId` */
  readonly company?: string
}

/** The members of a person as the service has them. */
export function participantOf(person: Person): Person {
  const { id, name, company, ...members } = person as Person & DeprecatedPerson
  return {
    ...(id === undefined ? {} : { externalId: id }),
    ...(name === undefined ? {} : { displayName: name }),
    ...(company === undefined ? {} : { companyExternalId: company }),
    ...members,
  } as Person
}

/** Who takes part in a conversation, and where. Sent with the messages; a later value replaces an earlier one. */
export interface SessionOptions {
  readonly person?: Person
  /** Where in the product the conversation takes place: `productArea`, `surface`, `release`, … */
  readonly context?: Readonly<Record<string, unknown>>
  readonly agentVersion?: string
}

/** What each request of the session has beside its events. */
export function membersOf(
  agentKey: string,
  id: string,
  { person, context, agentVersion }: SessionOptions,
): SessionMembers {
  return {
    agentKey,
    externalSessionId: id,
    ...(agentVersion === undefined ? {} : { agentVersion }),
    ...(context === undefined ? {} : { context: { ...context } }),
    ...(person === undefined ? {} : { participants: [{ ...participantOf(person) }] }),
  }
}

/** The options, completed from the environment. @throws Error if one is missing */
export function withDefaults({ url, agentKey, secret }: EarshotOptions) {
  const { process } = globalThis as { process?: { env?: Readonly<Record<string, string | undefined>> } }
  const env = process?.env ?? {}
  const found = {
    url: url ?? env.EARSHOT_URL,
    agentKey: agentKey ?? env.EARSHOT_AGENT_KEY,
    secret: secret ?? env.EARSHOT_SECRET,
  }
  for (const [name, value] of Object.entries(found))
    if (!value) throw new Error(`Earshot needs the option "${name}" or its environment variable`)
  return {
    ...(found as { url: string; agentKey: string; secret: string }),
    url: (found.url as string).replace(/\/+$/, ''),
  }
}
