/** Rules between rows that hold whatever requests met. */
import type { Sql } from '../../src/platform/db/pool.ts'

/** Kinds of actors that go with the row of this id. */
const ROWS_OF_ACTORS: readonly (readonly [kind: string, table: string, column: string])[] = [
  ['recording', 'recording', 'id'],
  ['webhook', 'webhook', 'id'],
  ['webhook_recovery', 'webhook', 'id'],
  ['webhook_delivery', 'webhook_delivery', 'id'],
  ['import-source', 'import_source', 'id'],
  ['feedback-import', 'feedback_import', 'upload_id'],
  ['trace', 'agent_application', 'id'],
  ['meeting', 'meeting_join', 'id'],
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
  for (const [kind, table, column] of ROWS_OF_ACTORS)
    await rule(
      `an actor ${kind} has no row`,
      sql`select 1 from actor_mailbox m where split_part(m.key, ':', 1) = ${kind}
        and not exists (select from ${sql(table)} t where t.${sql(column)}::text = split_part(m.key, ':', 2))`,
    )
  for (const { child, column, parent, key } of await references(sql))
    await rule(
      `${child}.${column} names a row of ${parent} that does not exist`,
      sql`select 1 from ${sql(child)} c where c.${sql(column)} is not null
        and not exists (select from ${sql(parent)} p where p.${sql(key)} = c.${sql(column)}) limit 1`,
    )
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
