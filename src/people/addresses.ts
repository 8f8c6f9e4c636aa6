/**
 * Gives people and their former addresses the normal form, where an earlier version stored what was sent. Two people whose addresses have
 * one normal form are one person, so they are merged.
 */
import { send } from '../actors/mailbox.ts'
import { personMergeMessages } from '../kernel/messages/person-merge.ts'
import type { DataChange } from '../platform/db/data-change.ts'
import type { Tx } from '../platform/db/pool.ts'
import { contactAddress } from '../platform/validation/user-address.ts'
import * as store from './addresses.store.ts'
import { lockAlone } from './alias.store.ts'
import { lockPerson } from './directory.store.ts'
import { join } from './merge.ts'

export const personAddressesChange: DataChange = {
  name: 'normal_addresses_of_people',
  table: 'person',
  key: 'id',
  rowsPerStep: 100,
  async change(tx, keys) {
    const due = (await store.listAddresses(tx, keys)).filter(({ email }) => normalOf(email) !== email)
    const organizations = [...new Set(due.map(({ organizationId }) => organizationId))].toSorted()
    for (const id of organizations) await lockAlone(tx, id)
    for (const { organizationId, id } of due) await normalise(tx, organizationId, id)
  },
}

const normalOf = (email: string) => contactAddress(email) ?? email

async function normalise(tx: Tx, organizationId: string, id: number): Promise<void> {
  await normaliseFormer(tx, organizationId, id)
  const person = await lockPerson(tx, organizationId, id)
  if (person === null || person.id !== id || person.email === null) return
  const email = normalOf(person.email)
  if (email === person.email) return
  const other = await store.findOther(tx, organizationId, email, id)
  if (other === null) return store.setAddress(tx, organizationId, id, email)
  const kept = await lockPerson(tx, organizationId, other)
  if (kept === null) return
  await join(tx, organizationId, kept, person)
  const payload = { organizationId }
  await send(tx, [personMergeMessages.message(person.publicId, 'move', { organizationId, payload })])
}

async function normaliseFormer(tx: Tx, organizationId: string, id: number): Promise<void> {
  for (const { formerId, email } of await store.listFormer(tx, organizationId, id))
    if (normalOf(email) !== email) await store.setFormerAddress(tx, organizationId, formerId, normalOf(email))
}
