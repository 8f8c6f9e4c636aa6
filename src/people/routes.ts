/** Operations on people. They parse, call the directory and shape the answer. */
import { Type } from '@sinclair/typebox'
import { accepted, type Operation, ok, operation } from '../http/operation.ts'
import { keyset, positionOf, toPage } from '../http/paging.ts'
import { integerId, integerIdOf, moment, uuidOf } from '../http/parameters.ts'
import type { Directory, Erasure, PersonRow } from './directory.ts'
import { LEFT_BY_ERASURE, Person, PersonErasure, PersonPage, PersonQuery, PutPerson } from './model.ts'

const PEOPLE = '/v3/rest/people'
const PERSON = `${PEOPLE}/{personId}`
const ERASURES = '/v3/rest/person-erasures'
const TAG = 'Feedback'

const NOT_FOUND = 'person_not_found'
const NO_ERASURE = 'person_erasure_not_found'

const order = keyset('people', ['integer', 'integer'])

/** Everything under `/v3/rest/people` and `/v3/rest/person-erasures`. */
export function peopleOperations(directory: Directory): readonly Operation[] {
  return [
    putPerson(directory),
    listPeople(directory),
    getPerson(directory),
    erasePerson(directory),
    getErasure(directory),
  ]
}

const putPerson = (directory: Directory) =>
  operation({
    id: 'putPerson',
    method: 'PUT',
    path: PEOPLE,
    tag: TAG,
    summary: 'Create or update a person',
    description:
      'The person is found by `email` in the organization, by case or not. What is absent is left as it is; `null` clears a name or the ' +
      'company. A new person is `external` unless told. The answer is 200 either way.',
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
    access: 'organizationOrUser',
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
    access: 'organizationOrUser',
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
      'The person, their feedback records and their places among the participants of recordings are deleted at once, all or ' +
      'nothing. Then, in the background and without fail, name and e-mail address are replaced by `[erased]` where the person took part: in ' +
      'agent conversations (a participant with the `personId`, or with the e-mail address as `email`, `username` or `externalId`) and in ' +
      'the names, summaries, transcripts, metadata values and file names of recordings. Names count as whole words in any case. A retry of an erased message ' +
      'is still recognised and brings nothing back; what is new after the request is new data. The log keeps a receipt without names.',
    access: 'organization',
    success: {
      status: 202,
      description: 'The person is gone; the rest goes on as `Location` tells',
      schema: PersonErasure,
    },
    errors: [NOT_FOUND],
    async handler({ principal, param }) {
      const erasure = await directory.erase(principal.organizationId, integerId(param('personId'), NOT_FOUND))
      return accepted(`${ERASURES}/${erasure.id}`, erasureResource(erasure))
    },
  })

const getErasure = (directory: Directory) =>
  operation({
    id: 'getPersonErasure',
    method: 'GET',
    path: `${ERASURES}/{erasureId}`,
    params: { erasureId: uuidOf('erasure') },
    tag: TAG,
    summary: 'Read how far the erasure of a person is',
    description: 'Says what was erased and what an erasure leaves. It does not say who the person was.',
    access: 'organization',
    query: Type.Object({}),
    success: { status: 200, description: 'The erasure', schema: PersonErasure },
    errors: [NO_ERASURE],
    async handler({ principal, id, query }) {
      const erasure = await directory.getErasure(principal.organizationId, id('erasureId', NO_ERASURE))
      query()
      return ok(erasureResource(erasure))
    },
  })

function erasureResource({ id, personId, counts, requestedAt, finishedAt }: Erasure) {
  return {
    id,
    person_id: personId,
    status: finishedAt === null ? 'running' : 'completed',
    requested_at: requestedAt,
    finished_at: finishedAt,
    erased: counts,
    left: LEFT_BY_ERASURE,
  }
}

function resourceOf(row: PersonRow) {
  return {
    id: row.id,
    uuid: row.uuid,
    first_name: row.firstName,
    last_name: row.lastName,
    email: row.email,
    boundary: row.boundary,
    company_id: row.companyId,
    created_at: row.createdAt,
  }
}
