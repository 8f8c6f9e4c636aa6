/** Operations on people. They parse, call the directory and shape the answer. */
import { Type } from '@sinclair/typebox'
import { noContent, type Operation, ok, operation } from '../http/operation.ts'
import { keyset, positionOf, toPage } from '../http/paging.ts'
import { integerId, integerIdOf, moment } from '../http/parameters.ts'
import type { Directory, PersonRow } from './directory.ts'
import { Person, PersonPage, PersonQuery, PutPerson } from './model.ts'

const PEOPLE = '/v3/rest/people'
const PERSON = `${PEOPLE}/{personId}`
const TAG = 'Feedback'

const NOT_FOUND = 'person_not_found'

const order = keyset('people', ['integer', 'integer'])

/** Everything under `/v3/rest/people`. */
export function peopleOperations(directory: Directory): readonly Operation[] {
  return [putPerson(directory), listPeople(directory), getPerson(directory), erasePerson(directory)]
}

const putPerson = (directory: Directory) =>
  operation({
    id: 'putPerson',
    method: 'PUT',
    path: PEOPLE,
    tag: TAG,
    summary: 'Create or update a person',
    description:
      'The person is found by `email` in the organization, by case or not. What is absent (or `null`) is left as it is; a new ' +
      'person is `external` unless told. The answer is 200 either way.',
    access: 'organization',
    limit: 'feedback',
    body: PutPerson,
    example: {
      first_name: 'Ada',
      last_name: 'Lovelace',
      email: 'ada@example.com',
      boundary: 'external',
      company: { name: 'Example', domain: 'example.com' },
    },
    success: { status: 200, description: 'The person as it is now', schema: Person },
    async handler({ principal, body }) {
      return ok(resourceOf(await directory.put(principal.organizationId, await body())))
    },
  })

const listPeople = (directory: Directory) =>
  operation({
    id: 'listPeople',
    method: 'GET',
    path: PEOPLE,
    tag: TAG,
    summary: 'List people',
    description: 'Newest first, by `page` or by `cursor`.',
    access: 'organization',
    query: PersonQuery,
    success: { status: 200, description: 'A page of people', schema: PersonPage },
    async handler({ principal, query }) {
      const { email, since, until, ...place } = query()
      const position = positionOf(order, place)
      const filter = { email: email?.trim(), since: moment('since', since), until: moment('until', until) }
      const rows = await directory.list(principal.organizationId, filter, position)
      return ok({
        ...toPage(rows, position.limit, (row) => order.encode([row.createdMicroseconds, row.id]), resourceOf),
        page: position.page,
      })
    },
  })

const getPerson = (directory: Directory) =>
  operation({
    id: 'getPerson',
    method: 'GET',
    path: PERSON,
    params: { personId: integerIdOf('person') },
    tag: TAG,
    summary: 'Read a person',
    description: '404 where the organization has no such person.',
    access: 'organization',
    query: Type.Object({}),
    success: { status: 200, description: 'The person', schema: Person },
    errors: [NOT_FOUND],
    async handler({ principal, param, query }) {
      const person = await directory.get(principal.organizationId, integerId(param('personId'), NOT_FOUND))
      query()
      return ok(resourceOf(person))
    },
  })

const erasePerson = (directory: Directory) =>
  operation({
    id: 'erasePerson',
    method: 'DELETE',
    path: PERSON,
    params: { personId: integerIdOf('person') },
    tag: TAG,
    summary: 'Erase a person',
    description:
      'With all of their feedback records and their places among the participants of recordings, all or nothing. The ' +
      'recordings stay, and what was said in them. The log keeps a receipt without names.',
    access: 'organization',
    success: { status: 204, description: 'The person is gone' },
    errors: [NOT_FOUND],
    async handler({ principal, param }) {
      await directory.erase(principal.organizationId, integerId(param('personId'), NOT_FOUND))
      return noContent()
    },
  })

function resourceOf(row: PersonRow) {
  return {
    id: row.id,
    first_name: row.firstName,
    last_name: row.lastName,
    email: row.email,
    boundary: row.boundary,
    company_id: row.companyId,
    created_at: row.createdAt,
  }
}
