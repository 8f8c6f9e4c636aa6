/**
 * The baseline of `bench/http`: two plain Elysia routes that validate their body and make the same inserts.
 *
 * They do nothing else: no credentials, limits, request ids, rules beyond the schema, or notifications of workers. Settings come
 * from the same variables as for the service.
 */
import { Elysia, t } from 'elysia'
import postgres from 'postgres'

const { DATABASE_URL = '', DATABASE_POOL_SIZE = '20' } = process.env
const sql = postgres(DATABASE_URL, { max: Number(DATABASE_POOL_SIZE) })

const app = new Elysia()
  .get('/ready', () => 'ready')
  .post(
    '/contact',
    async ({ body: { email, ...fields } }) => {
      const id = Bun.randomUUIDv7()
      const key = `form:${id}`
      await sql.begin(async (tx) => {
        await tx`insert into form_submission (id, form, email, fields) values (${id}, 'contact', ${email}, ${tx.json(fields)})`
        await tx`insert into actor_mailbox (key, last_seq) values (${key}, 1)`
        await tx`insert into actor_message (key, seq, type, payload) values (${key}, 1, 'notify_team', '{}')`
      })
      return { success: true }
    },
    {
      body: t.Object({
        name: t.String({ minLength: 1 }),
        email: t.String({ format: 'email' }),
        inquiryType: t.String({ minLength: 1 }),
        message: t.String({ minLength: 1 }),
        company: t.Optional(t.String()),
      }),
    },
  )
  .post(
    '/organizations/:organization/sources/:source/records',
    async ({ params, body, set }) => {
      const [row] = await sql`
        insert into feedback_record (organization_id, feedback_source_id, external_id, display_ts, fields)
        values (${params.organization}, ${params.source}, ${body.external_id}, ${body.display_ts}, ${sql.json(body.fields as never)})
        returning id, person_id, feedback_source_id, display_ts, external_id, created_at`
      set.status = 201
      return row
    },
    {
      body: t.Object({
        external_id: t.String({ minLength: 1 }),
        display_ts: t.String({ format: 'date-time' }),
        fields: t.Array(
          t.Object({ category: t.String(), type: t.String(), name: t.String(), value: t.Unknown() }),
        ),
      }),
    },
  )
  .listen({ hostname: '127.0.0.1', port: 0 })

console.log(`http://127.0.0.1:${app.server?.port}`)
process.on('SIGTERM', () => process.exit(0))
