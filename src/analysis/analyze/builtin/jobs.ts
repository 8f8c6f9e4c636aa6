/** The text jobs of the built-in analyser. */
import type { Insight, Subject } from '../insight.ts'
import { analyzeSubjects, type Scorer } from './analyze.ts'
import { loadClassifier } from './classifier.ts'
import { type DetectLanguage, loadLanguage } from './language.ts'
import { withoutCapitals } from './vectors/capitals.rules.ts'
import { directionFromMean, nearestCells } from './vectors/cells.rules.ts'
import { loadCentroids } from './vectors/cells.ts'
import { type Embed, loadEmbed, packVector } from './vectors/vectors.ts'

export interface InsightJobs {
  /** The insight of each subject. `rules` skips the classifier, which loads slowly. */
  readonly insight: {
    readonly input: { readonly subjects: readonly Subject[]; readonly tier: 'rules' | 'all' }
    readonly output: readonly Insight[]
  }
  /** The same, for background analyses. */
  readonly insight_background: InsightJobs['insight']
  /** A vector of 256 signed bytes for each text, in base64. */
  readonly embed: {
    readonly input: { readonly texts: readonly string[] }
    readonly output: readonly string[]
  }
  /** Where each text is in the space of vectors, and its nearest `cells`, nearest first; null for a text without known words. */
  readonly places: {
    readonly input: { readonly texts: readonly string[]; readonly cells: number }
    readonly output: readonly (TextPlace | null)[]
  }
}

export interface TextPlace {
  /** The direction from the mean of customers' texts: 256 signed bytes, in base64. */
  readonly vector: string
  readonly cells: readonly number[]
}

type Doers = {
  readonly [J in keyof InsightJobs]: (input: InsightJobs[J]['input']) => Promise<InsightJobs[J]['output']>
}

async function loadScorer(embed: Promise<Embed>): Promise<Scorer> {
  return { embed: await embed, classifier: await loadClassifier() }
}

/**
 * Runs the jobs in the calling process. The classifier reads texts as they were when it learned; for themes and search, what is in capitals means what it
 * means in small letters. Loads what a job needs with the first such job.
 */
export function createInsightDoers(load: (embed: Promise<Embed>) => Promise<Scorer> = loadScorer): Doers {
  let language: Promise<DetectLanguage> | null = null
  let embed: Promise<Embed> | null = null
  let centroids: Promise<Int8Array> | null = null
  let scorer: Promise<Scorer | null> | null = null
  // The table is large: both jobs use one.
  const embedder = () => {
    embed ??= loadEmbed()
    return embed
  }
  // Without the classifier there are still the rules.
  const scorerOrNull = () => {
    scorer ??= load(embedder()).catch(() => null)
    return scorer
  }
  const insight: Doers['insight'] = async ({ subjects, tier }) => {
    language ??= loadLanguage()
    const detect = await language
    return analyzeSubjects(subjects, detect, tier === 'all' ? await scorerOrNull() : null)
  }
  return {
    insight,
    insight_background: insight,
    async places({ texts, cells }) {
      centroids ??= loadCentroids()
      const [vectorOf, rows] = await Promise.all([embedder(), centroids])
      return texts.map((text) => {
        const direction = directionFromMean(vectorOf(withoutCapitals(text)))
        if (direction === null) return null
        return { vector: packVector(direction), cells: nearestCells(direction, rows, cells) }
      })
    },
    async embed({ texts }) {
      const vectorOf = await embedder()
      return texts.map((text) => packVector(vectorOf(withoutCapitals(text))))
    },
  }
}
