/** The row of a person, whom several organizations may know. */

import type { Tx } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import type { NewId } from '../../platform/ids.ts'
import { nameOf } from '../../platform/validation/names.ts'
import { accountAddress } from '../../platform/validation/user-address.ts'
import { lockPerson } from './members.store.ts'
import { insertUser, selectUserByAddress, type User } from './store.ts'

export interface NewAccount {
  readonly email: string
  readonly name: string
}

/**
 * Finds or creates the user with this address, and locks the row and the organization for a change of what the user may do there.
 * @throws AppError 400; 404 if there is no such organization
 */
export async function lockAccount(
  tx: Tx,
  newId: NewId,
  organizationId: string,
  { email: text, name }: NewAccount,
): Promise<User> {
  const email = accountAddress(nameOf('email', text))
  if (email === null)
    throw new AppError('validation_failed', `${JSON.stringify(text)} is not an e-mail address.`)
  const shown = nameOf('name', name)
  const find = async () => {
    const user = await selectUserByAddress(tx, email)
    if (!(await lockPerson(tx, organizationId, user?.id ?? null)))
      throw new AppError('not_found', 'There is no organization.')
    return user
  }
  const found =
    (await find()) ?? (await insertUser(tx, { id: newId(), email, name: shown })) ?? (await find())
  if (found === null) throw new Error('a user was neither found nor created')
  return found
}
