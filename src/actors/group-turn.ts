/**
 * Activations of actors that share long turns: one message of each actor, one read, one piece of I/O, one fenced transaction.
 *
 * If a shared turn fails, nothing was committed and no message is blamed. Each actor then continues alone (`long-turn.ts`), where
 * a failure counts for one message.
 */
import { Group } from './activation.ts'
import type { Context, Handover } from './context.ts'
import { groupHandler } from './handlers.ts'
import { runTurn } from './long-turn.ts'
import type { Work } from './turn.ts'
import { type ActorKey, Fenced, type GroupHandler, kindOf } from './types.ts'

/** Handles the first due message of each actor. Actors with more due messages go to the end of the line. */
export async function runGroup(
  context: Context,
  keys: readonly ActorKey[],
  handover: Handover,
): Promise<void> {
  const canShare: ConstructorParameters<typeof Group>[2]['canShare'] = (head) =>
    groupHandler(context, head) !== null
  const group = new Group(context, handover, { messages: 1, turns: 1, canShare })
  await group.claim(keys)
  while (group.size > 0) {
    const works = await group.sortOut()
    for (const [handler, members] of Map.groupBy(works, (work) => groupHandler(context, work.messages[0]!)))
      if (handler !== null) await takeTurn(context, group, handler, members)
  }
}

async function takeTurn(
  context: Context,
  group: Group,
  handler: GroupHandler,
  works: readonly Work[],
): Promise<void> {
  const { options, stopping, log, metrics } = context
  const longWorks = works.map(({ messages, ...work }) => ({ ...work, message: messages[0]! }))
  try {
    const released = await runTurn(context, longWorks, options.batchTimeoutMs, (turn) =>
      handler.together(turn),
    )
    // If the worker stops, the turn is broken off, and the next read of the mailboxes releases the actors that are left.
    if (released !== 'broken_off') group.complete(works, released)
  } catch (error) {
    if (stopping.aborted) return
    const kind = kindOf(works[0]!.key)
    if (error instanceof Fenced) metrics.turns.inc({ kind, outcome: 'fenced' })
    else
      log.warn(
        { kind, actors: works.length, err: error },
        'a shared turn failed; each message is handled alone',
      )
    await group.doAlone(works)
  }
}
