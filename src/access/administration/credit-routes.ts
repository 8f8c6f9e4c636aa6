/** `/v3/rest/credits`: the quota of metered units of the organization. */
import { Type } from '@sinclair/typebox'
import { type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, pageOf, pageQuery, toPage } from '../../http/paging.ts'
import { recorded } from '../audit/change.ts'
import type { Balance, Credits } from '../identity/credits.ts'
import { AddCredits, CreditBalance, CreditEntry, SetCredits } from './model.ts'

const CREDITS = '/v3/rest/credits'
const TAG = 'Administration'

const order = keyset('credit-entries', ['integer', 'uuid'])
const common = { tag: TAG, access: 'organizationOrUser', role: 'administrator' } as const

export function creditOperations(credits: Credits): readonly Operation[] {
  return [getBalance(credits), addCredits(credits), setBalance(credits), listEntries(credits)]
}

const getBalance = (credits: Credits) =>
  operation({
    ...common,
    id: 'getCredits',
    method: 'GET',
    path: CREDITS,
    summary: 'Read the balance of credits',
    description: 'One unit is taken for each visible, finalised response of an agent.',
    query: Type.Object({}),
    success: { status: 200, description: 'The balance', schema: CreditBalance },
    async handler({ principal, query }) {
      query()
      return ok({ balance: await credits.creditBalance(principal.organizationId) })
    },
  })

const addCredits = (credits: Credits) =>
  operation({
    ...common,
    id: 'addCredits',
    method: 'POST',
    path: CREDITS,
    summary: 'Add credits',
    description:
      'Adds units to the balance, and responses that waited for credits are processed. An unlimited balance stays unlimited. Each request ' +
      'adds: look at the entries before you repeat one whose answer was lost.',
    body: AddCredits,
    example: { units: 1000, note: 'Order 4711' },
    success: { status: 200, description: 'The balance after it', schema: CreditBalance },
    async handler(call) {
      const { units, note } = await call.body()
      const { organizationId } = call.principal
      const also = recorded<Balance>(
        call,
        'credits.added',
        () => null,
        ({ balance }) => ({ units, balance }),
      )
      return ok({ balance: await credits.addCredits(organizationId, units, note, also) })
    },
  })

const setBalance = (credits: Credits) =>
  operation({
    ...common,
    id: 'setCredits',
    method: 'PATCH',
    path: CREDITS,
    summary: 'Set the balance of credits',
    description: 'Sets the balance to a number, or to `null` for unlimited. The entry is the difference.',
    body: SetCredits,
    example: { balance: 5000, note: 'Yearly quota' },
    success: { status: 200, description: 'The balance after it', schema: CreditBalance },
    async handler(call) {
      const { balance, note } = await call.body()
      const { organizationId } = call.principal
      const also = recorded<Balance>(
        call,
        'credits.set',
        () => null,
        () => ({ balance }),
      )
      await credits.setCredits(organizationId, balance, note, also)
      return ok({ balance })
    },
  })

const listEntries = (credits: Credits) =>
  operation({
    ...common,
    id: 'listCreditEntries',
    method: 'GET',
    path: `${CREDITS}/entries`,
    summary: 'List changes of the credits',
    description: 'What was added or set, newest first. Metered units are in the usage of each application.',
    query: Type.Object(pageQuery(100, 20)),
    success: { status: 200, description: 'A page of entries', schema: pageOf(CreditEntry) },
    async handler({ principal, query }) {
      const { limit, cursor } = query()
      const slice = { after: order.decode(cursor), limit }
      const rows = await credits.listCreditEntries(principal.organizationId, slice)
      return ok(
        toPage(
          rows,
          limit,
          (row) => order.encode([row.createdMicroseconds, row.id]),
          ({ id, amount, note, createdAt }) => ({ id, amount, note, createdAt }),
        ),
      )
    },
  })
