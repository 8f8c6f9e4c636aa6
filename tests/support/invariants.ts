/** Rules between rows that hold whatever requests met. */
import type { Sql } from '../../src/platform/db/pool.ts'
import { wrongSums } from './sums.ts'

/** Kinds of actors that go with the row of their id, which is in one of the tables. */
const ROWS_OF_ACTORS: readonly (readonly [kind: string, column: string, ...tables: readonly string[]])[] = [
  ['session', 'id', 'agent_session'],
  ['analysis', 'id', 'agent_session'],
  ['rereading', 'id', 'agent_session'],
  ['passage', 'id', 'agent_session', 'recording', 'organization'],
  ['insight', 'id', 'feedback_record', 'recording'],
  ['insight_again', 'id', 'feedback_record', 'recording'],
  ['recording', 'id', 'recording'],
  ['transcription', 'id', 'recording'],
  ['webhook', 'id', 'webhook'],
  ['webhook_recovery', 'id', 'webhook'],
  ['webhook_delivery', 'id', 'webhook_delivery'],
  ['import-source', 'id', 'import_source'],
  ['feedback-import', 'upload_id', 'feedback_import'],
  ['trace', 'id', 'agent_application'],
  ['meeting', 'id', 'meeting_join'],
]

/** @returns a sentence for each rule that does not hold */
export async function brokenRules(sql: Sql): Promise<readonly string[]> {
  const broken: string[] = []
  const rule = async (sentence: string, rows: Promise<readonly unknown[]>) => {
    const found = (await rows).length
    if (found > 0) broken.push(`${sentence}: ${found} times`)
  }
  await rule(
    'an organization has no administrator',
    sql`select 1 from organization o where exists (select from membership m where m.organization_id = o.id)
      and not exists (select from membership m where m.organization_id = o.id and m.role = 'administrator')`,
  )
  await rule(
    'a member is a former member, too',
    sql`select 1 from membership join former_member using (organization_id, user_id)`,
  )
  await rule(
    'an application has more publishable keys than allowed',
    sql`select application_id from publishable_key where revoked_at is null group by application_id having count(*) > 10`,
  )
  for (const [kind, column, ...tables] of ROWS_OF_ACTORS) {
    const ids = tables.map((table) => sql`select ${sql(column)}::text from ${sql(table)}`)
    await rule(
      `an actor ${kind} has no row`,
      sql`select 1 from actor_mailbox m where split_part(m.key, ':', 1) = ${kind}
        and split_part(m.key, ':', 2) not in (${ids.reduce((some, more) => sql`${some} union all ${more}`)})`,
    )
  }
  for (const { child, column, parent, key } of await references(sql))
    await rule(
      `${child}.${column} names a row of ${parent} that does not exist`,
      sql`select 1 from ${sql(child)} c where c.${sql(column)} is not null
        and not exists (select from ${sql(parent)} p where p.${sql(key)} = c.${sql(column)}) limit 1`,
    )
  for (const sum of await wrongSums(sql)) broken.push(`a sum differs from its rows: ${sum}`)
  return broken
}

interface Reference {
  readonly child: string
  readonly column: string
  readonly parent: string
  readonly key: string
}

/** Foreign keys of one column, also those that PostgreSQL has not validated. */
function references(sql: Sql) {
  return sql<Reference[]>`
    select c.conrelid::regclass::text as child, a.attname as column, c.confrelid::regclass::text as parent, p.attname as key
    from pg_constraint c
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    join pg_attribute p on p.attrelid = c.confrelid and p.attnum = c.confkey[1]
    where c.contype = 'f' and cardinality(c.conkey) = 1 and c.conparentid = 0`
}
