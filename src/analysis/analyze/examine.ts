/** Whether the model server can be reached, for `/ready` and for `earshot doctor`. */
import type { Config } from '../../kernel/config.ts'
import { cachedFor } from '../../platform/concurrency/cached.ts'
import { openAiRemedy, reachOpenAi } from '../../platform/net/openai-compatible.ts'

const EVERY_MS = 60_000
/** Less than a probe waits for a part. */
const BUDGET_MS = 1_500

/** Asks for the list of models, which costs no tokens. @returns null without a model server */
export async function examineAnalyzer({
  analyze,
}: Pick<Config, 'analyze'>): Promise<{ readonly ok: boolean; readonly detail: string } | null> {
  if (analyze === null) return null
  const server = `${analyze.model} at ${new URL(analyze.url).host}`
  try {
    await reachOpenAi(analyze, BUDGET_MS)
    return { ok: true, detail: server }
  } catch (error) {
    return {
      ok: false,
      detail: `${server} ${String((error as Error).message)}. ${openAiRemedy(error, 'ANALYZE')}. What is to be analysed waits for it`,
    }
  }
}

/** A part of the service (see `platform/observability/degraded.ts`). The answer is up to a minute old. Empty without a model server. */
export function analyzerParts(config: Pick<Config, 'analyze'>) {
  if (config.analyze === null) return []
  const part = {
    name: 'analyzer',
    effect:
      'The model server is away: what arrives waits to be analysed, and questions are answered with passages only. Everything else works.',
    ask: cachedFor(EVERY_MS, async () => {
      const found = await examineAnalyzer(config)
      if (found?.ok === false) throw new Error(found.detail)
    }),
  } as const
  return [part]
}
