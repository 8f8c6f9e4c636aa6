/** Operations on people. They parse, call the directory and shape the response. */

import { Type } from '@sinclair/typebox'
import { recorded } from '../access/audit/change.ts'
import { accepted, type Operation, ok, operation } from '../http/operation.ts'
import { keyset, positionOf, toPage } from '../http/paging.ts'
import { moment, uuidOf } from '../http/parameters.ts'
import { contactAddress } from '../platform/validation/user-address.ts'
import type { Directory, Erasure, PersonRow } from './directory.ts'
import type { Merge } from './merge.ts'
import {
  LEFT_BY_ERASURE,
  MergePerson,
  Person,
  PersonErasure,
  PersonPage,
  PersonQuery,
  PutPerson,
} from './model.ts'
import { personIdParameter, personRef } from './person-id.ts'
import { personSearchOf } from './search.rules.ts'

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
    mergePeople(directory),
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
      'Finds the person in the organization by `email` (case-insensitively) or creates one. An absent member keeps its value; `null` ' +
      'clears a name or the company. A new person is `external` by default. The answer is 200 in both cases. A request that arrived before ' +
      'the erasure of this person, and is processed after it, is 404.',
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
    success: { status: 200, description: 'The stored person', schema: Person },
    errors: [NOT_FOUND],
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
    role: 'viewer',
    reads: { action: 'person.listed' },
    query: PersonQuery,
    success: { status: 200, description: 'A page of people', schema: PersonPage },
    async handler({ principal, query }) {
      const { q, email, uuids, since, until, ...place } = query()
      const position = positionOf(order, place)
      const period = { since: moment('since', since), until: moment('until', until) }
      const search = q === undefined ? undefined : personSearchOf(q)
      const filter = {
        search,
        email: email && (contactAddress(email) ?? email.trim()),
        uuids: uuids?.split(','),
        ...period,
      }
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
    params: { personId: personIdParameter },
    tag: TAG,
    summary: 'Read a person',
    description:
      'Answers 404 if the organization has no such person. The id of a person who was merged gives the one who was kept.',
    access: 'organizationOrUser',
    role: 'viewer',
    reads: { action: 'person.read', object: 'personId' },
    query: Type.Object({}),
    success: { status: 200, description: 'The person', schema: Person },
    errors: [NOT_FOUND],
    async handler({ principal, param, query }) {
      const person = await directory.get(principal.organizationId, personRef(param('personId')))
      query()
      return ok(resourceOf(person))
    },
  })

const mergePeople = (directory: Directory) =>
  operation({
    id: 'mergePeople',
    method: 'POST',
    path: `${PERSON}/merge`,
    params: { personId: personIdParameter },
    tag: TAG,
    summary: 'Merge two people',
    description:
      'The person of `personId` becomes part of the person of the path, for good: feedback records, participations in recordings and agent ' +
      'conversations, and signals move. Names, e-mail address and company only fill gaps. The ids of the merged person go on working ' +
      'and mean the person who is kept, and so does the e-mail address. If there is much to move, the rest moves in the background; ' +
      'answers show it under the person who is kept from the start. A retry answers the same.',
    access: 'organizationOrUser',
    role: 'analyst',
    body: MergePerson,
    example: { personId: '0198c1f0-0000-7000-8000-000000000002' },
    success: { status: 200, description: 'The person who is kept', schema: Person },
    errors: [NOT_FOUND],
    async handler(call) {
      const { organizationId } = call.principal
      const ref = personRef(call.param('personId'))
      // 404 before 400: the person of the path comes first.
      await directory.get(organizationId, ref)
      const { personId } = await call.body()
      const also = recorded<Merge>(
        call,
        'person.merged',
        ({ person }) => person.id,
        ({ mergedId }) => ({ mergedId }),
      )
      return ok(resourceOf(await directory.merge(organizationId, ref, personId.toLowerCase(), also)))
    },
  })

const erasePerson = (directory: Directory) =>
  operation({
    id: 'erasePerson',
    method: 'DELETE',
    path: PERSON,
    params: { personId: personIdParameter },
    tag: TAG,
    summary: 'Erase a person',
    description:
      'Deletes the person, their feedback records and their participations in recordings at once, all or nothing. ' +
      'Then the service replaces name and e-mail address by `[erased]` in the background, wherever the person took part: in ' +
      'agent conversations (a participant with the `personId`, or with the e-mail address as `email`, `username` or `externalId`) and in ' +
      'the names, summaries, transcripts, metadata values and file names of recordings. Names match as whole words in any case. A retry of an erased ' +
      'message is still recognised and restores nothing. Data that arrives after the request is new. The log keeps a receipt without names.',
    access: 'organizationOrUser',
    role: 'administrator',
    success: {
      status: 202,
      description: 'The person is deleted; `Location` shows the progress of the rest',
      schema: PersonErasure,
    },
    errors: [NOT_FOUND],
    async handler(call) {
      const ref = personRef(call.param('personId'))
      const also = recorded<Erasure>(
        call,
        'person.erased',
        ({ personId }) => personId,
        (erasure) => ({ erasureId: erasure.id }),
      )
      const erasure = await directory.erase(call.principal.organizationId, ref, also)
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
    summary: 'Read the progress of an erasure',
    description: 'Returns what was erased and what an erasure leaves in place. It does not name the person.',
    access: 'organizationOrUser',
    role: 'administrator',
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
