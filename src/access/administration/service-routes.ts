/** `/v3/rest/service`: what the service runs on, for administrators. No address, credential or reason of a failure is told. */
import { version } from '../../../package.json'
import { DEFAULT_OPTIONS } from '../../actors/options.ts'
import { backlogOf } from '../../actors/organization-messages.ts'
import { countLiveWorkers } from '../../actors/worker-statements.ts'
import { type Operation, ok, operation } from '../../http/operation.ts'
import type { Config } from '../../kernel/config.ts'
import type { Deps } from '../../kernel/deps.ts'
import { cachedFor } from '../../platform/concurrency/cached.ts'
import { serverVersion } from '../../platform/db/server-version.store.ts'
import * as model from './model.ts'

/** A bucket may cost money for each request. */
const MEDIA_CHECK_EVERY_MS = 10_000
const MEDIA_CHECK_MS = 2_000
const LEASE_S = DEFAULT_OPTIONS.leaseMs / 1000

type ServiceDeps = Pick<Deps, 'config' | 'reads' | 'redis' | 'storage'>

export function serviceOperation(deps: ServiceDeps): Operation {
  const { config, reads } = deps
  const isWritable = cachedFor(MEDIA_CHECK_EVERY_MS, () =>
    deps.storage.assertWritable(AbortSignal.timeout(MEDIA_CHECK_MS)).then(
      () => true,
      () => false,
    ),
  )
  return operation({
    id: 'getService',
    method: 'GET',
    path: '/v3/rest/service',
    tag: 'Administration',
    summary: 'Read the state of the service',
    description:
      'What the service runs on, what it has no settings for, and how much of the organization waits. At most 1,000 messages are counted.',
    access: 'organizationOrUser',
    role: 'administrator',
    success: { status: 200, description: 'The state', schema: model.ServiceState },
    async handler({ principal }) {
      const [database, workers, backlog, isMediaWritable] = await Promise.all([
        serverVersion(reads),
        countLiveWorkers(reads, LEASE_S),
        backlogOf(reads, principal.organizationId),
        isWritable(),
      ])
      const parts = [
        { name: 'database', state: 'ready', detail: `PostgreSQL ${database.text}`, settings: [] },
        redisPart(deps),
        {
          name: 'media',
          state: isMediaWritable ? 'ready' : 'failed',
          detail: deps.storage.name === 's3' ? 'S3' : 'folder',
          settings: [],
        },
        ...optionalParts(config),
      ]
      return ok({ version, workers, ...backlog, parts })
    },
  })
}

function redisPart({ redis }: ServiceDeps) {
  if (redis === null)
    return {
      name: 'redis',
      state: 'not_configured',
      detail: 'PostgreSQL wakes the workers',
      settings: ['REDIS_URL'],
    }
  return { name: 'redis', state: redis.status === 'ready' ? 'ready' : 'failed', detail: null, settings: [] }
}

/** What the service works without. `detail` says what happens then. */
function optionalParts({ transcribe, analyze, recorder, mail }: Config) {
  const part = (name: string, isThere: boolean, without: string, settings: readonly string[]) =>
    isThere
      ? { name, state: 'ready', detail: null, settings: [] }
      : { name, state: 'not_configured', detail: without, settings }
  return [
    part('transcription', transcribe !== null, 'recordings keep the transcript that they came with', [
      'TRANSCRIBE_URL',
      'TRANSCRIBE_MODEL',
    ]),
    part('model', analyze !== null, 'the built-in analyser reads', ['ANALYZE_URL', 'ANALYZE_MODEL']),
    part('meetings', recorder !== null, 'no meeting is joined', [
      'RECORDER',
      'RECORDER_URL',
      'RECORDER_API_KEY',
    ]),
    part('mail', mail.smtpUrl !== null, 'mail is written into a folder', ['SMTP_URL', 'MAIL_FROM']),
  ]
}
