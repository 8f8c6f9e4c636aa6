/**
 * Which findings an organization sees: by its own verdicts from `MIN_VERDICTS` on, by the shipped figures before. If verdicts change that,
 * an actor shows or hides the stored findings, in portions.
 */
import { defineActor } from '../../actors/declaration.ts'
import type { ActorDefinition, LongTurn } from '../../actors/types.ts'
import { CHANNELS, type Channel } from '../../kernel/channel.ts'
import { findingGateMessages } from '../../kernel/messages/finding-gate.ts'
import type { Query } from '../../platform/db/pool.ts'
import { gateOf } from '../analyze/gate.rules.ts'
import type { Analyzer, Kind, Tier } from '../analyze/insight.ts'
import * as store from './gate.store.ts'
import type { Sort } from './verdict.rules.ts'

/** True if findings of this sort are shown to the organization. */
export type Shows = (
  organizationId: string,
  kind: Kind,
  tier: Tier,
  language: string | null,
  channel: Channel,
) => boolean

/** What the organizations see of the findings of an analyser, as the transaction sees their verdicts. */
export async function readGates(
  sql: Query,
  organizationIds: readonly string[],
  analyzer: Pick<Analyzer, 'name' | 'version'>,
): Promise<Shows> {
  const rows = await store.readPrecision(sql, [...new Set(organizationIds)], analyzer)
  const own = new Map(
    rows.map(({ organizationId, judged, right, ...sort }) => [
      keyOf(organizationId, sort),
      [right, judged - right] as const,
    ]),
  )
  return (organizationId, kind, tier, language, channel) => {
    const figures = own.get(keyOf(organizationId, { kind, tier, language: language ?? '' })) ?? [0, 0]
    return gateOf(figures, kind, tier, language, channel).shown
  }
}

const keyOf = (organizationId: string, { kind, tier, language }: Pick<Sort, 'kind' | 'tier' | 'language'>) =>
  `${organizationId} ${kind} ${tier} ${language}`

/** The channels on which findings of a sort are shown, with these verdicts of the organization. */
export function channelsShown(
  { kind, tier, language }: Pick<Sort, 'kind' | 'tier' | 'language'>,
  { judged, right }: { readonly judged: number; readonly right: number },
): readonly Channel[] {
  const own = [right, judged - right] as const
  return CHANNELS.filter(
    (channel) => gateOf(own, kind as Kind, tier as Tier, language === '' ? null : language, channel).shown,
  )
}

/** Signals of one transaction. */
const PORTION = 1_000
/** Portions of one turn. Then another long turn gets its share. */
const PORTIONS = 20

/** The actor of an organization whose gate has changed. */
export function findingGateActor(portion = PORTION): ActorDefinition {
  return defineActor(findingGateMessages, {
    maxAttempts: 20,
    handlers: { follow: (turn) => follow(turn, portion) },
  })
}

type Follow = Omit<Sort, 'language'> & {
  readonly language: string | null
  readonly after?: [string, string] | undefined
}

async function follow(turn: LongTurn<Follow>, portion: number): Promise<void> {
  const organizationId = turn.message.id
  const { after: from, language, ...rest } = turn.message.payload
  const sort = { ...rest, language: language ?? '' }
  const next = (after: store.Place | null) =>
    turn.step(async (tx) => {
      // The gate of this moment: it may have changed again.
      const analyzer = { name: sort.analyzerName, version: sort.analyzerVersion }
      const shows = await readGates(tx, [organizationId], analyzer)
      const shownOn = CHANNELS.filter((channel) =>
        shows(organizationId, sort.kind as Kind, sort.tier as Tier, language, channel),
      )
      return store.followGate(tx, organizationId, sort, shownOn, after, portion)
    })
  let place: store.Place | null = from ?? null
  for (let n = 0; n < PORTIONS; n++) {
    const last = await next(place)
    if (last === null) return turn.finish(async () => {})
    place = last
  }
  const [moment, id] = place ?? ['', '']
  await turn.finish((_, send) =>
    send([
      findingGateMessages.message(organizationId, 'follow', {
        organizationId,
        payload: { ...rest, language, after: [moment, id] },
      }),
    ]),
  )
}
