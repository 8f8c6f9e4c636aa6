/** Finds the handler of a message, or gives the message up. */
import type { Context } from './context.ts'
import { payloadTrouble } from './declaration.ts'
import type { WaitingMessage } from './mailbox-reads.ts'
import { deadLetter } from './statements.ts'
import {
  type ActorDefinition,
  type BulkHandler,
  failuresOf,
  type GroupHandler,
  kindOf,
  type LongHandler,
  type Message,
  type ShortHandler,
} from './types.ts'

/** How often `giveUp` itself is tried; after that the message becomes a dead letter without asking the domain. */
const GIVE_UP_ATTEMPTS = 3

/** Each type has its own limit of failures. All share one small limit of deaths, because each death ends other work, too. */
export function isSpent(context: Context, message: WaitingMessage): boolean {
  return (
    failuresOf(message) >= maxAttempts(definitionOf(context, message), message) ||
    message.deaths >= context.options.maxDeaths
  )
}

function maxAttempts({ maxAttempts: usual, maxAttemptsOf = {} }: ActorDefinition, { type }: Message): number {
  return Object.hasOwn(maxAttemptsOf, type) ? (maxAttemptsOf[type] ?? usual) : usual
}

/** The handler of a message in a short turn. @throws Error if this version cannot read the message, because another version sent it */
export function shortHandler(context: Context, message: Message): ShortHandler | BulkHandler {
  const definition = definitionOf(context, message)
  if (definition.pool !== 'short') throw new Error(`${definition.kind} is not an actor of short turns`)
  return handlerOf(definition, definition.handlers, message)
}

/** The handler of a message in a long turn. @throws Error if this version cannot read the message, because another version sent it */
export function longHandler(context: Context, message: Message): LongHandler {
  const definition = definitionOf(context, message)
  if (definition.pool === 'short') throw new Error(`${definition.kind} is not an actor of long turns`)
  const handler = handlerOf(definition, definition.handlers, message)
  return typeof handler === 'function' ? handler : handler.alone
}

/** The handler that the message may share with others. Null if it has none, or if this version cannot read it. */
export function groupHandler({ definitions }: Context, message: Message): GroupHandler | null {
  const { key, type } = message
  const definition = definitions.get(kindOf(key))
  if (definition === undefined || definition.pool === 'short') return null
  if (troubleOf(definition, message) !== null) return null
  const handler = Object.hasOwn(definition.handlers, type) ? definition.handlers[type] : undefined
  return typeof handler === 'object' ? handler : null
}

/** Whether messages of the definition may share long turns. */
export function isGrouped(definition: ActorDefinition): boolean {
  return (
    definition.pool !== 'short' &&
    Object.values(definition.handlers).some((handler) => typeof handler === 'object')
  )
}

/** Milliseconds. */
export function longTurnTimeoutMs(context: Context, message: Message): number {
  const { turnTimeoutMsOf = {} } = definitionOf(context, message)
  const own = Object.hasOwn(turnTimeoutMsOf, message.type) ? turnTimeoutMsOf[message.type] : undefined
  return own ?? context.options.longTurnTimeoutMs
}

/** A handler that gives a message up: the domain handles it, or it becomes a dead letter. */
export function givingUp(context: Context, head: WaitingMessage): ShortHandler {
  return async (message, tx, send) => {
    const definition = definitionOf(context, head)
    const { giveUp } = definition
    const asked =
      giveUp !== undefined &&
      troubleOf(definition, head) === null &&
      failuresOf(head) < maxAttempts(definition, head) + GIVE_UP_ATTEMPTS &&
      head.deaths < context.options.maxDeaths + GIVE_UP_ATTEMPTS
    const outcome = asked ? await giveUp(message, tx, send, head.lastError ?? '') : 'dead_letter'
    if (outcome === 'dead_letter') {
      await deadLetter(tx, message)
      const { key, type, seq } = message
      context.log.error({ key, type, seq, lastError: head.lastError }, 'message given up: now a dead letter')
      context.metrics.turns.inc({ kind: kindOf(key), outcome: 'dead_letter' })
    }
    return 'done'
  }
}

function definitionOf(context: Context, message: Message): ActorDefinition {
  const definition = context.definitions.get(kindOf(message.key))
  if (definition === undefined) throw new Error(`no definition for the actor ${message.key}`)
  return definition
}

function handlerOf<T>(
  definition: ActorDefinition,
  handlers: Readonly<Record<string, T>>,
  message: Message,
): T {
  const trouble = troubleOf(definition, message)
  const handler = handlers[message.type]
  if (trouble !== null || handler === undefined) throw new Error(trouble ?? 'no handler')
  return handler
}

/** Why this version cannot read the message: its type is unknown, or its payload is of another form. Null where it can. */
function troubleOf({ kind, handlers, payloads }: ActorDefinition, { type, payload }: Message): string | null {
  if (!Object.hasOwn(handlers, type))
    return `this version knows no message ${JSON.stringify(type)} of ${kind} actors`
  const check = payloads?.get(type)
  const trouble = check === undefined ? null : payloadTrouble(check, payload)
  return trouble === null ? null : `this version cannot read the payload of ${kind} ${type}: ${trouble}`
}
