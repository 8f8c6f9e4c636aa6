/** Judges findings as an analyst would: the story says where a reader finds praise and complaints. */
import type { Call } from './client.ts'
import { externalSessionId } from './requests.rules.ts'
import type { Sent } from './send.ts'
import type { Story } from './story.rules.ts'

/** Findings of this kind in other texts are wrong: what sounds like praise there is mere politeness. */
const DECIDED = 'praise'
const KINDS = [DECIDED, 'complaint']

interface Finding {
  readonly id: string
  readonly kind: string
  readonly externalSessionId: string | null
  readonly recordId: number | null
}

/** @returns the number of verdicts */
export async function judge(call: Call, story: Story, sent: Sent): Promise<number> {
  const kindsOfSession = new Map(
    story.conversations.map((told, index) => [externalSessionId(index), told.kinds]),
  )
  let verdicts = 0
  for (const kind of KINDS)
    for (const finding of await findingsOf(call, kind)) {
      const record = story.records[sent.records.get(Number(finding.recordId)) ?? -1]
      const kinds = kindsOfSession.get(finding.externalSessionId ?? '') ?? record?.kinds
      if (kinds === undefined || (kind !== DECIDED && !kinds.includes(kind))) continue
      const verdict = kinds.includes(kind) ? 'right' : 'wrong'
      await call('PATCH', `/v3/rest/signals/${finding.id}`, { verdict })
      verdicts++
    }
  return verdicts
}

/** Those that are shown, and those that are not. */
async function findingsOf(call: Call, kind: string): Promise<readonly Finding[]> {
  const lists = await Promise.all(
    ['', '&shown=false'].map((shown) =>
      call<{ data: readonly Finding[] }>('GET', `/v3/rest/signals?kind=${kind}&limit=100${shown}`),
    ),
  )
  return lists.flatMap(({ data }) => data)
}
