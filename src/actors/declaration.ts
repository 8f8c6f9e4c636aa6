/**
 * The declaration of an actor: its kind, the pool that runs it, and the payload of each type of message. Senders make messages with
 * it and the handlers are typed by it, so that the compiler checks both ends. Workers check each payload against its schema, because
 * a message may come from another version.
 */
import type { Static, TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import type { Json } from '../platform/db/pool.ts'
import type {
  ActorDefinition,
  ActorKey,
  BulkHandler,
  GiveUp,
  GroupHandler,
  Kinds,
  LongHandler,
  NewMessage,
  Pool,
  ShortHandler,
} from './types.ts'

type Payloads = Readonly<Record<string, TSchema>>

/** Options of a message, with its payload where its type has one. */
type Options<S extends TSchema> = Omit<NewMessage, 'key' | 'type' | 'payload'> &
  (Record<string, never> extends Static<S>
    ? { readonly payload?: undefined }
    : { readonly payload: Static<S> })

export interface ActorDeclaration<
  K extends string = string,
  L extends Pool = Pool,
  P extends Payloads = Payloads,
> {
  readonly kind: K
  readonly pool: L
  readonly payloads: P
  /** The key of the actor that acts for the object with this id. */
  key(id: string): ActorKey
  /** A message for the actor of this id. */
  message<T extends keyof P & string>(
    id: string,
    type: T,
    ...options: Record<string, never> extends Static<P[T]> ? [Options<P[T]>?] : [Options<P[T]>]
  ): NewMessage
}

/** The payload of a declared message. */
export type PayloadOf<D extends ActorDeclaration, T extends keyof D['payloads']> = Static<D['payloads'][T]>

/** `payloads`: each type of message with the schema of its payload; members that a schema does not name are ignored. */
export function declareActor<const K extends string, const L extends Pool, const P extends Payloads>(
  kind: K,
  pool: L,
  payloads: P,
): ActorDeclaration<K, L, P> {
  const key = (id: string): ActorKey => `${kind}:${id}`
  return {
    kind,
    pool,
    payloads,
    key,
    message: (id, type, options?) => ({ ...(options as Partial<NewMessage>), key: key(id), type }),
  }
}

type Handler<L extends Pool, S extends TSchema> = L extends 'short'
  ? ShortHandler<Static<S>> | BulkHandler
  : LongHandler<Static<S>> | GroupHandler<Static<S>>

type Behaviour<L extends Pool, P extends Payloads> = {
  readonly maxAttempts: number
  readonly maxAttemptsOf?: { readonly [T in keyof P]?: number }
  readonly turnTimeoutMsOf?: { readonly [T in keyof P]?: number }
  /** For all types, or for each. A message that is given up and has none becomes a dead letter. */
  readonly giveUp?: GiveUp | { readonly [T in keyof P]?: GiveUp<Static<P[T]>> }
  /** One handler for each declared type. */
  readonly handlers: { readonly [T in keyof P]: Handler<L, P[T]> }
}

/** Joins a declaration with what its messages do. */
export function defineActor<L extends Pool, P extends Payloads>(
  { kind, pool, payloads }: ActorDeclaration<string, L, P>,
  { giveUp, ...behaviour }: Behaviour<L, P>,
): ActorDefinition {
  const checks = Object.entries(payloads).map(
    ([type, schema]) => [type, TypeCompiler.Compile(schema)] as const,
  )
  const definition = { ...behaviour, kind, pool, payloads: new Map(checks), giveUp: byType(giveUp) }
  // A handler sees payloads of its schema only: the runtime checks them first (`handlers.ts`).
  return definition as unknown as ActorDefinition
}

function byType<P extends Payloads>(giveUp: Behaviour<Pool, P>['giveUp']): GiveUp | undefined {
  if (giveUp === undefined || typeof giveUp === 'function') return giveUp
  const ofType = giveUp as Readonly<Record<string, GiveUp | undefined>>
  return async (message, ...rest) => ofType[message.type]?.(message, ...rest) ?? 'dead_letter'
}

/** Why the payload is not of its schema, for the last error of a message. Null where it is. */
export function payloadTrouble(check: TypeCheck<TSchema>, payload: Json): string | null {
  if (check.Check(payload)) return null
  const first = check.Errors(payload).First()
  return `${first?.path ?? ''}: ${first?.message ?? 'not readable'}`
}

/** @throws Error for two declarations of one kind */
export function kindsOf(declarations: readonly ActorDeclaration<string, Pool, Payloads>[]): Kinds {
  const kinds = new Map<string, Pool>()
  for (const { kind, pool } of declarations) {
    if (kinds.has(kind)) throw new Error(`two actors of the kind ${kind}`)
    kinds.set(kind, pool)
  }
  return kinds
}
