/** The SQL of the words by which recordings are found by name. */
import type { Tx } from '../../platform/db/pool.ts'
import { nameWords } from '../../platform/text/words.rules.ts'

/** Computes the words of the names of recordings, of any organization. */
export async function fillNameWords(tx: Tx, ids: readonly string[]): Promise<void> {
  const rows = await tx<{ organizationId: string; id: string; displayName: string | null }[]>`
    select organization_id as "organizationId", id, display_name as "displayName"
    from recording
    where id = any(${ids as string[]}::uuid[])
    order by id
    for no key update`
  const named = rows.map(({ displayName, ...row }) => ({ ...row, words: nameWords(displayName) }))
  await tx`
    update recording
    set name_words = w.words
    from json_to_recordset(${JSON.stringify(named)}::text::json) as w ("organizationId" uuid, id uuid, words text)
    where recording.organization_id = w."organizationId"
      and recording.id = w.id
      and recording.name_words is distinct from w.words`
}
