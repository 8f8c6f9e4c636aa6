/** Metadata of recordings, written in the transactions of recordings: typed values, external ids, refusals. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import fc from 'fast-check'
import { ERRORS } from '../../src/app/error-catalogue.ts'
import { FIELD_TYPES } from '../../src/calls/metadata/model.ts'
import {
  DuplicateExternalId,
  RecordInput,
  type RecordInput as RecordValues,
  type ValueInput,
} from '../../src/calls/metadata/service.ts'
import { restError } from '../../src/http/rest-error.ts'
import type { Tx } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { AppError } from '../../src/platform/errors.ts'
import { newId } from '../../src/platform/ids.ts'
import {
  canonicalSource,
  createField,
  createSource,
  createTenant,
  insertIntegration,
  insertRecording,
  startTestServer,
  type Tenant,
  type TestServer,
} from '../support/metadata.ts'

let server: TestServer
let tenant: Tenant
let canonical: string
/** One field of each type in the canonical source. */
const fields: Record<string, string> = {}
beforeAll(async () => {
  server = await startTestServer()
  tenant = await createTenant(server)
  canonical = await canonicalSource(tenant.key)
  for (const type of FIELD_TYPES)
    fields[type] = await createField(tenant.key, canonical, { name: `a ${type}`, type })
})
afterAll(() => server.stop())

const metadata = () => server.features.metadata
const within = <T>(work: (tx: Tx) => Promise<T>) => transaction(server.deps.sql, work)
const fieldOf = (type: string) => fields[type] as string

/** Creates a recording with this record. */
async function write(input: RecordValues, { organizationId } = tenant): Promise<string> {
  const recordingId = await insertRecording(server.deps.sql, organizationId)
  await within((tx) => metadata().writeCanonicalRecord(tx, organizationId, recordingId, input))
  return recordingId
}

async function read(recordingId: string, { organizationId } = tenant) {
  const found = await metadata().recordsOf(server.deps.sql, organizationId, [recordingId])
  return found.get(recordingId)
}

const valuesOf = async (recordingId: string) =>
  (await read(recordingId))?.canonical?.values.map(({ type, value }) => [type, value])

async function refusal(work: Promise<unknown>): Promise<AppError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof AppError)) throw new Error(`not refused: ${error}`)
  return error
}

describe('a canonical record', () => {
  test('is returned with its external id and its values in their declared JSON types', async () => {
    const given: Record<string, unknown> = {
      string: ' text ',
      boolean: false,
      integer: -9007199254740991,
      float: 0.1,
      date: '2024-02-29',
      datetime: '2026-01-02T03:04:05.600+01:00',
      json: { a: [1, null, { b: 'c' }], '': true },
    }
    const values = FIELD_TYPES.map((type) => ({ fieldId: fieldOf(type), value: given[type] }))
    const recordingId = await write({ externalId: 'call-1', values })
    const expected = FIELD_TYPES.map((type) => ({
      fieldId: fieldOf(type),
      name: `a ${type}`,
      type,
      value: given[type],
    }))
    expect(await read(recordingId)).toEqual({
      canonical: { externalId: 'call-1', values: expected },
      all: [
        {
          id: expect.any(String),
          sourceId: canonical,
          externalEntityName: 'recordings',
          type: 'api',
          isCanonicalRecordingSource: true,
          externalId: 'call-1',
          values: expected,
        },
      ],
    })
  })

  test.each([...FIELD_TYPES])('keeps null as null in a field of type %s', async (type) => {
    const recordingId = await write({ values: [{ fieldId: fieldOf(type), value: null }] })
    expect(await valuesOf(recordingId)).toEqual([[type, null]])
  })

  test('exists without values and external id, which is then null', async () => {
    expect((await read(await write({})))?.canonical).toEqual({ externalId: null, values: [] })
  })

  test('gives back every JSON value as it was sent', async () => {
    // -0 is 0 in JSON text. U+0000 is refused with the whole body.
    const sent = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value).replaceAll('\\u0000', '')))
    await fc.assert(
      fc.asyncProperty(sent, async (value) => {
        const recordingId = await write({ values: [{ fieldId: fieldOf('json'), value }] })
        expect(await valuesOf(recordingId)).toEqual([['json', value]])
      }),
      { numRuns: 50 },
    )
  })

  test.each([1.5, 1e308, 5e-324, 123456789012345680000, 0.1 + 0.2, -1e-7])(
    'gives back the number %d',
    async (value) => {
      const recordingId = await write({ values: [{ fieldId: fieldOf('float'), value }] })
      expect(await valuesOf(recordingId)).toEqual([['float', value]])
    },
  )

  test('takes field ids in upper case', async () => {
    const recordingId = await write({ values: [{ fieldId: fieldOf('integer').toUpperCase(), value: 1 }] })
    expect(await valuesOf(recordingId)).toEqual([['integer', 1]])
  })

  test('makes the canonical source of an organization that has none', async () => {
    const fresh = await createTenant(server)
    const recordingIds = await Promise.all(Array.from({ length: 10 }, () => write({}, fresh)))
    const records = await metadata().recordsOf(server.deps.sql, fresh.organizationId, recordingIds)
    const sources = [...records.values()].map(({ all }) => all[0]?.sourceId)
    expect(sources).toEqual(Array(10).fill(await canonicalSource(fresh.key)))
  })
})

describe('values are refused with 422', () => {
  const cases: [string, string, () => Promise<ValueInput[]>, [string, string][]][] = [
    [
      'not matching the type of the field',
      'metadata_value_type_mismatch',
      async () => [
        { fieldId: fieldOf('string'), value: 'right' },
        { fieldId: fieldOf('boolean'), value: 'true' },
        { fieldId: fieldOf('date'), value: '2026-02-30' },
      ],
      [
        ['record.values[1].value', 'metadata_value_type_mismatch'],
        ['record.values[2].value', 'metadata_value_type_mismatch'],
      ],
    ],
    [
      'of a field from a source other than recordings',
      'metadata_field_not_canonical',
      async () => [
        { fieldId: await createField(tenant.key, await createSource(tenant.key)), value: 'x' },
        {
          fieldId: (await insertIntegration(server.deps.sql, tenant.organizationId)).fieldId,
          value: 'x',
        },
      ],
      [
        ['record.values[0].fieldId', 'metadata_field_not_canonical'],
        ['record.values[1].fieldId', 'metadata_field_not_canonical'],
      ],
    ],
    [
      "of a field of another organization's recordings source, or of none",
      'metadata_field_not_canonical',
      async () => {
        const other = await createTenant(server)
        const foreign = await createField(other.key, await canonicalSource(other.key))
        return [
          { fieldId: foreign, value: 'x' },
          { fieldId: newId(), value: 'x' },
          { fieldId: 'nonsense', value: 'x' },
        ]
      },
      [
        ['record.values[0].fieldId', 'metadata_field_not_canonical'],
        ['record.values[1].fieldId', 'metadata_field_not_canonical'],
        ['record.values[2].fieldId', 'metadata_field_not_canonical'],
      ],
    ],
    [
      'that give one field twice',
      'metadata_field_duplicate',
      async () => [
        { fieldId: fieldOf('json'), value: 1 },
        { fieldId: fieldOf('json').toUpperCase(), value: 1 },
      ],
      [['record.values[1].fieldId', 'metadata_field_duplicate']],
    ],
  ]
  test.each(cases)('%s: %s', async (_, code, values, details) => {
    const given = await values()
    const externalId = newId()
    const attempts = [() => write({ externalId, values: given }), () => replaceIn(newId(), given)]
    for (const attempt of attempts) {
      const error = await refusal(attempt())
      expect(error.code).toBe(code as never)
      const context = { path: '/', requestId: 'r', now: new Date() }
      expect(restError(error, context, ERRORS).body).toMatchObject({
        statusCode: 422,
        error: 'Unprocessable Entity',
      })
      expect(error.details.map(({ path, code: detail }) => [path, detail])).toEqual(details)
    }
    // The refused request reserved nothing.
    await write({ externalId })
  })
})

const replaceIn = (recordingId: string, values: readonly ValueInput[]) =>
  within((tx) => metadata().replaceValues(tx, tenant.organizationId, recordingId, values))

describe('an external id', () => {
  test('that another recording has is a duplicate that names that recording', async () => {
    const holder = await write({ externalId: 'unique' })
    const again = write({ externalId: 'unique' })
    expect(await again.catch((reason) => reason)).toBeInstanceOf(DuplicateExternalId)
    expect(await again.catch((reason) => reason.recordingId)).toBe(holder)
    expect(await metadata().recordingWith(server.deps.sql, tenant.organizationId, 'unique')).toBe(holder)
  })

  test('is compared by case and blanks, and free in another organization', async () => {
    await write({ externalId: 'Exact' })
    await write({ externalId: 'exact' })
    await write({ externalId: 'Exact ' })
    await write({ externalId: 'Exact' }, await createTenant(server))
  })

  test('asked for by 50 recordings at once is had by one, and 49 are told which', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () =>
        write({ externalId: 'contended' }).then(
          (recordingId) => ({ won: true, recordingId }),
          (reason: DuplicateExternalId) => ({ won: false, recordingId: reason.recordingId }),
        ),
      ),
    )
    expect(outcomes.filter(({ won }) => won)).toHaveLength(1)
    expect(new Set(outcomes.map(({ recordingId }) => recordingId)).size).toBe(1)
  })

  test('of a transaction that is rolled back goes to the one that waits for it', async () => {
    const { organizationId } = tenant
    const [first, second] = [
      await insertRecording(server.deps.sql, organizationId),
      await insertRecording(server.deps.sql, organizationId),
    ]
    const give = (tx: Tx, id: string) =>
      metadata().writeCanonicalRecord(tx, organizationId, id, { externalId: 'returned' })
    const written = Promise.withResolvers<void>()
    const rollBack = Promise.withResolvers<never>()
    const loser = within(async (tx) => {
      await give(tx, first)
      written.resolve()
      await rollBack.promise
    }).catch((error: Error) => error.message)
    await written.promise
    const winner = within((tx) => give(tx, second))
    rollBack.reject(new Error('rolled back'))
    expect(await loser).toBe('rolled back')
    await winner
    expect(await metadata().recordingWith(server.deps.sql, organizationId, 'returned')).toBe(second)
  })

  test('is free again when its recording is deleted', async () => {
    const holder = await write({ externalId: 'freed', values: [{ fieldId: fieldOf('json'), value: 1 }] })
    await server.deps.sql`delete from recording where id = ${holder}`
    expect(await metadata().recordingWith(server.deps.sql, tenant.organizationId, 'freed')).toBeNull()
    await write({ externalId: 'freed' })
  })
})

describe('replacing values', () => {
  test('leaves exactly the given ones, and the external id as it was', async () => {
    const recordingId = await write({
      externalId: 'replaced',
      values: [
        { fieldId: fieldOf('string'), value: 'old' },
        { fieldId: fieldOf('integer'), value: 1 },
      ],
    })
    await replaceIn(recordingId, [
      { fieldId: fieldOf('integer'), value: 2 },
      { fieldId: fieldOf('json'), value: null },
    ])
    expect(await valuesOf(recordingId)).toEqual([
      ['integer', 2],
      ['json', null],
    ])
    expect((await read(recordingId))?.canonical?.externalId).toBe('replaced')
    await replaceIn(recordingId, [])
    expect(await valuesOf(recordingId)).toEqual([])
  })

  test('gives a recording without a canonical record one', async () => {
    const recordingId = await insertRecording(server.deps.sql, tenant.organizationId)
    expect((await read(recordingId))?.canonical).toBeNull()
    await replaceIn(recordingId, [{ fieldId: fieldOf('boolean'), value: true }])
    expect((await read(recordingId))?.canonical).toMatchObject({
      externalId: null,
      values: [{ value: true }],
    })
  })

  test('by 20 at once leaves the values of one of them', async () => {
    const recordingId = await write({})
    const replace = (_: unknown, value: number) =>
      replaceIn(recordingId, [
        { fieldId: fieldOf('integer'), value },
        { fieldId: fieldOf('float'), value },
      ])
    await Promise.all(Array.from({ length: 20 }, replace))
    const [[, integer], [, float]] = (await valuesOf(recordingId)) as [[string, number], [string, number]]
    expect(float).toBe(integer)
  })
})

describe('reading', () => {
  test('gives the records of other sources after the canonical one', async () => {
    const { sql } = server.deps
    const { sourceId, fieldId } = await insertIntegration(sql, tenant.organizationId)
    const recordingId = await write({ externalId: 'linked' })
    const recordId = newId()
    await sql`
      insert into metadata_record (id, organization_id, source_id, recording_id, external_id)
      values (${recordId}, ${tenant.organizationId}, ${sourceId}, ${recordingId}, '006')`
    await sql`
      insert into metadata_value (organization_id, record_id, field_id, value)
      values (${tenant.organizationId}, ${recordId}, ${fieldId}, '"Won"')`
    const found = await read(recordingId)
    expect(found?.all.map(({ type, externalId }) => [type, externalId])).toEqual([
      ['api', 'linked'],
      ['salesforce', '006'],
    ])
    expect(found?.all[1]?.values).toEqual([{ fieldId, name: 'Stage', type: 'string', value: 'Won' }])
    expect(found?.canonical).toEqual({ externalId: 'linked', values: [] })
  })

  test('gives every recording an entry, and nothing of another organization', async () => {
    const recordingIds = [await write({}), await write({ externalId: 'many' }), newId()]
    const ours = await metadata().recordsOf(server.deps.sql, tenant.organizationId, recordingIds)
    expect([...ours.keys()]).toEqual(recordingIds)
    expect([...ours.values()].map(({ all }) => all.length)).toEqual([1, 1, 0])
    const other = await createTenant(server)
    const theirs = await metadata().recordsOf(server.deps.sql, other.organizationId, recordingIds)
    expect([...theirs.values()].map(({ canonical, all }) => [canonical, all])).toEqual(
      Array(3).fill([null, []]),
    )
    expect((await metadata().recordsOf(server.deps.sql, tenant.organizationId, [])).size).toBe(0)
  })
})

test.each<[unknown, boolean]>([
  [{}, true],
  [{ externalId: 'x', values: [{ fieldId: newId(), value: null }] }, true],
  [{ externalId: '' }, false],
  [{ externalId: 7 }, false],
  [{ values: [{ fieldId: newId() }] }, false],
  [{ values: [{ fieldId: 'nonsense', value: 1 }] }, false],
  [{ values: { fieldId: newId(), value: 1 } }, false],
])('the shape of a record in a request: %j is %p', (input, fits) => {
  expect(Value.Check(RecordInput, input)).toBe(fits)
})

test('an organization is deleted with its metadata and recordings', async () => {
  const gone = await createTenant(server)
  const fieldId = await createField(gone.key, await canonicalSource(gone.key))
  await write({ values: [{ fieldId, value: 'x' }] }, gone)
  const { sql } = server.deps
  await sql`delete from organization where id = ${gone.organizationId}`
  expect(await sql`select from metadata_value where organization_id = ${gone.organizationId}`).toHaveLength(0)
})
