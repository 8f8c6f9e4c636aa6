/** Reads the JSON of a request to the tools. Another thread parses what takes longer than a moment. */
import type { BodyLease } from '../../../http/body-budget.ts'
import { jsonLoad } from '../../../http/json-cost.ts'
import { countValues, parseBodyWork } from '../../../http/parse-body.ts'
import { readBytes } from '../../../http/read-body.ts'
import type { RequestWork } from '../../../platform/concurrency/work.ts'
import { AppError } from '../../../platform/errors.ts'

/** Files of sessions that are larger come by `earshot agent-session upload`. */
const MAX_BODY_BYTES = 1024 * 1024
/** Names, texts, lists and objects. Copying more out of the parsing thread would take several milliseconds. */
const MAX_BODY_VALUES = 30_000

/** @throws AppError 400, 408, 413, 415, 503 */
export async function readBody(
  request: Request,
  lease: BodyLease,
  { caller, work }: { readonly caller: string; readonly work: RequestWork },
): Promise<unknown> {
  const bytes = await readBytes(request, MAX_BODY_BYTES, lease)
  if (bytes.byteLength > MAX_BODY_VALUES && countValues(bytes) > MAX_BODY_VALUES)
    throw new AppError(
      'too_many_values',
      `The request body has more than ${MAX_BODY_VALUES} names, texts, lists and objects. Send a session as \`jsonl\`, or upload it as a file.`,
      { extra: { limit: MAX_BODY_VALUES } },
    )
  const load = jsonLoad(caller, [bytes])
  return work.run(parseBodyWork, { parts: load.parts, schema: null }, load)
}
