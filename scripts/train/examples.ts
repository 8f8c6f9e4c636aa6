/** Turns rows into what the head learns from, exactly as the analyser reads messages. */
import { clausesOf, MAX_CLAUSE } from '../../src/analyze/builtin/clauses.rules.ts'
import { ENGLISH } from '../../src/analyze/builtin/cues/english.ts'
import { type Embed, packVector } from '../../src/analyze/builtin/embed.ts'
import { formOf, ngramsOf } from '../../src/analyze/builtin/features.rules.ts'
import { inputOf } from '../../src/analyze/builtin/head.rules.ts'
import { KINDS } from '../../src/analyze/insight.ts'
import type { Row } from './corpus.ts'

export interface Example {
  /** Of the network. */
  readonly input: Float32Array
  readonly ngrams: Uint32Array
  /** For each kind 1 or 0. */
  readonly labels: Float32Array
  /** For each kind how much the label counts; 0 if it is not known. Absent: 1. */
  readonly weights?: Float32Array
}

const BATCH = 256

export async function examplesOf(
  rows: readonly Row[],
  embed: Embed,
  onProgress: (done: number) => void = () => {},
): Promise<readonly Example[]> {
  const texts = rows.map(({ text }) =>
    clausesOf(text)
      .map((clause) => clause.text)
      .join(' ')
      .slice(0, MAX_CLAUSE),
  )
  // Texts of similar length go together, because a batch takes as long as its longest text.
  const order = texts
    .map((_, index) => index)
    .sort((a, b) => (texts[a] ?? '').length - (texts[b] ?? '').length)
  const embeddings = new Map<number, Float32Array>()
  for (let start = 0; start < order.length; start += BATCH) {
    const batch = order.slice(start, start + BATCH)
    const vectors = await embed(batch.map((index) => texts[index] ?? ''))
    for (const [place, index] of batch.entries()) embeddings.set(index, rounded(vectors[place]))
    onProgress(start + batch.length)
  }
  return rows.map(({ text, channel, kinds }, index) => ({
    input: inputOf(embeddings.get(index) as Float32Array, formOf(clausesOf(text), channel, ENGLISH)),
    ngrams: ngramsOf(texts[index] ?? ''),
    labels: Float32Array.from(KINDS, (kind) => (kinds.includes(kind) ? 1 : 0)),
  }))
}

/** As stored vectors are, so that the last bits of another processor change nothing. */
export function rounded(vector: Float32Array = new Float32Array()): Float32Array {
  return Float32Array.from(new Int8Array(Buffer.from(packVector(vector), 'base64')), (value) => value / 127)
}
