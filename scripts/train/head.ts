/** Trains the whole head, measures it on files that it has not seen, and packs its weights. */
import { createHash } from 'node:crypto'
import {
  applyHead,
  applyNetwork,
  applyNgrams,
  type Layers,
  packMatrix,
} from '../../src/analyze/builtin/head.rules.ts'
import { KINDS } from '../../src/analyze/insight.ts'
import { createRandom } from '../../src/platform/random.ts'
import type { Row } from './corpus.ts'
import type { Example } from './examples.ts'
import { averagePrecision, type Scored } from './measure.ts'
import { TRAINING, type Training, trainNetwork } from './network.ts'
import { type NgramTraining, OF_KINDS, trainNgrams } from './ngrams.ts'
import { shuffled } from './random.ts'

export interface TrainedHead {
  readonly layers: Layers
  readonly ngrams: Float32Array
}

export function trainHead(
  examples: readonly Example[],
  training: Training = TRAINING,
  ofNgrams: NgramTraining = OF_KINDS,
): TrainedHead {
  return { layers: trainNetwork(examples, training), ngrams: trainNgrams(examples, ofNgrams) }
}

/** How likely a piece has each kind. */
export function scoreOf(
  { layers, ngrams }: TrainedHead,
  example: Pick<Example, 'input' | 'ngrams'>,
): Float32Array {
  return applyHead(applyNetwork(layers, example.input), applyNgrams(ngrams, example.ngrams))
}

/**
 * For each kind the score and the label of each row, by a head that was trained on the other files only.
 * @param most rows of the other files that are used
 */
export function crossValidate(
  rows: readonly Row[],
  examples: readonly Example[],
  most = Number.POSITIVE_INFINITY,
): readonly (readonly Scored[])[] {
  const scores: Float32Array[] = []
  for (const file of new Set(rows.map((row) => row.file))) {
    const others = examples.filter((_, index) => rows[index]?.file !== file)
    const order = shuffled(others.length, createRandom(TRAINING.seed)).slice(0, most)
    const head = trainHead(Array.from(order, (index) => others[index] as Example))
    for (const [index, row] of rows.entries()) {
      if (row.file === file) scores[index] = scoreOf(head, examples[index] as Example)
    }
  }
  return KINDS.map((_, kind) =>
    scores.map((score, index) => [score[kind] ?? 0, examples[index]?.labels[kind] === 1] as const),
  )
}

/** One line of the learning curve: the mean over the kinds, and each kind. */
export function curveLine(most: number, validated: readonly (readonly Scored[])[]): string {
  const averages = validated.map(averagePrecision)
  const mean = averages.reduce((sum, value) => sum + value, 0) / averages.length
  return `${most} clauses: ${mean.toFixed(3)} (${averages.map((value) => value.toFixed(2)).join(' ')})`
}

/** The content of the weights file. The same text gives the same bytes. `more`: what else stands in it. */
export function weightsOf(
  rows: readonly Row[],
  items: readonly unknown[],
  { layers, ngrams }: TrainedHead,
  more: object = {},
): string {
  const { inputs, hidden, first, firstBias, second, secondBias } = layers
  const content = {
    corpus: corpusHash(rows, items),
    rows: rows.length,
    items: items.length,
    inputs,
    hidden,
    first: packMatrix(first, 2),
    firstBias: packMatrix(firstBias, 2),
    second: packMatrix(second, 2),
    secondBias: packMatrix(secondBias, 2),
    ngrams: packMatrix(ngrams, 1),
    ...more,
  }
  return `${JSON.stringify(content, null, 2)}\n`
}

/** SHA-256 of the labelled text. */
export function corpusHash(rows: readonly Row[], items: readonly unknown[]): string {
  return createHash('sha256')
    .update(JSON.stringify([rows, items]))
    .digest('hex')
}
