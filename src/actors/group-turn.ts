/**
 * Activations of actors that share long turns: one message of each, one reading, one piece of I/O, one fenced transaction.
 *
 * A turn of many can fail, but none of its messages can: whatever goes wrong, nothing was committed, nobody is blamed, and each
 * actor goes on alone (`long-turn.ts`), where a failure has one message to count for.
 */
import { Group } from './activation.ts'
import type { Context, Handover } from './context.ts'
import { groupHandler } from './handlers.ts'
import { runTurn } from './long-turn.ts'
import type { Work } from './turn.ts'
import { type ActorKey, Fenced, type GroupHandler, kindOf } from './types.ts'

/** Does the first due message of each actor; those that have more due go to the end of the line. */
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
    const released = await runTurn(context, longWorks, options.batchPatienceMs, (turn) =>
      handler.together(turn),
    )
    // Broken off: what is left is given back at the next look, because the worker stops.
    if (released !== 'broken_off') group.complete(works, released)
  } catch (error) {
    if (stopping.aborted) return
    const kind = kindOf(works[0]!.key)
    if (error instanceof Fenced) metrics.turns.inc({ kind, outcome: 'fenced' })
    else log.warn({ kind, actors: works.length, err: error }, 'a shared turn failed: each is done alone')
    await group.doAlone(works)
  }
}
