/** SQL of submissions. They belong to the operator of the service, so no statement names an organization. */
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { Submission } from './model.ts'

/** Stores a submission. @returns false if the form is a list that already contains the address */
export async function insertSubmission(
  tx: Tx,
  { id, form, email, fields }: Omit<Submission, 'receivedAt'>,
): Promise<boolean> {
  const rows = await tx`
    insert into form_submission (id, form, email, fields)
    values (${id}, ${form}, ${email}, ${tx.json(fields)})
    on conflict (form, lower(email)) where form in ('builder-waitlist', 'development-waitlist', 'mobile-reminder')
      do nothing
    returning id`
  return rows.length > 0
}

/**
 * True if the address used the form in the last 24 hours, not counting the submission `id`. Submissions with one address come one after
 * the other from here to the end of the transaction: each sees the one before.
 */
export async function usedRecently(
  tx: Tx,
  { id, form, email }: Pick<Submission, 'id' | 'form' | 'email'>,
): Promise<boolean> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`${form} of `} || lower(${email}), 0))`
  const rows = await tx`
    select 1
    from form_submission
    where lower(email) = lower(${email}) and form = ${form} and id <> ${id}
      and received_at > now() - interval '24 hours'
    limit 1`
  return rows.length > 0
}

export async function findSubmission(query: Query, id: string): Promise<Submission | null> {
  const [row] = await query<Submission[]>`
    select id, form, email, fields, received_at as "receivedAt"
    from form_submission
    where id = ${id}`
  return row ?? null
}

/** Records that a mail server refused the address of the submission. */
export async function saveRefusal(tx: Tx, id: string, reason: string): Promise<void> {
  await tx`
    update form_submission set confirmation_refused = ${reason}
    where id = ${id}`
}

/** Deletes submissions with the address (case-insensitively). @returns their ids */
export async function deleteSubmissions(tx: Tx, email: string): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    delete from form_submission
    where lower(email) = lower(${email})
    returning id`
  return rows.map(({ id }) => id)
}
