/** The text jobs of the built-in analyser. */
import type { Insight, Subject } from '../insight.ts'
import { analyzeSubjects, type Scorer } from './analyze.ts'
import { type Embed, loadEmbed, packVector } from './embed.ts'
import { loadEnding, loadHead, loadShortHead } from './head.ts'
import { loadJudge } from './judge.ts'
import { type DetectLanguage, loadLanguage } from './language.ts'

export interface InsightJobs {
  /** The insight of each subject. `rules` skips the trained head, which costs most of the time. */
  readonly insight: {
    readonly input: { readonly subjects: readonly Subject[]; readonly tier: 'rules' | 'all' }
    readonly output: readonly Insight[]
  }
  /** The same, for background analyses. */
  readonly insight_background: InsightJobs['insight']
  /** A vector of 512 signed bytes for each text, in base64. English only. */
  readonly embed: {
    readonly input: { readonly texts: readonly string[] }
    readonly output: readonly string[]
  }
}

type Doers = {
  readonly [J in keyof InsightJobs]: (input: InsightJobs[J]['input']) => Promise<InsightJobs[J]['output']>
}

/** Runs the jobs in the calling process. Loads what a job needs with the first such job. */
export function createInsightDoers(load: () => Promise<Embed> = loadEmbed): Doers {
  let language: Promise<DetectLanguage> | null = null
  let embed: Promise<Embed> | null = null
  let scorer: Promise<Scorer | null> | null = null
  const embedder = () => {
    embed ??= load()
    return embed
  }
  // Without the embeddings there are still the rules.
  const scorerOrNull = () => {
    scorer ??= embedder().then(
      (loaded) => ({
        embed: loaded,
        head: loadHead(),
        short: loadShortHead(),
        judge: loadJudge(),
        ending: loadEnding(),
      }),
      () => null,
    )
    return scorer
  }
  const insight: Doers['insight'] = async ({ subjects, tier }) => {
    language ??= loadLanguage()
    const detect = await language
    const scorer = tier === 'all' ? await scorerOrNull() : null
    return analyzeSubjects(subjects, detect, scorer)
  }
  return {
    insight,
    insight_background: insight,
    async embed({ texts }) {
      return (await (await embedder())(texts)).map(packVector)
    },
  }
}
