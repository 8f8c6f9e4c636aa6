/**
 * Splits texts into sentences with wink-nlp. The language model (4 MB) is loaded when first needed.
 */
import type { ItemSentence } from 'wink-nlp'

export type Split = (text: string) => readonly string[]

/** Texts between two looks at the abort signal, and between two turns of the event loop. */
const SLICE = 50

export async function loadSplit(): Promise<Split> {
  const [{ default: winkNLP }, { default: model }] = await Promise.all([
    import('wink-nlp'),
    import('wink-eng-lite-web-model'),
  ])
  const nlp = winkNLP(model, ['sbd'])
  return (text) => {
    const sentences: string[] = []
    nlp
      .readDoc(text)
      .sentences()
      .each((sentence: ItemSentence) => void sentences.push(sentence.out()))
    return sentences
  }
}

/** The sentences of all texts, in their order. @param signal rejects when aborted */
export async function splitAll(
  split: Split,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const sentences: string[] = []
  for (const [index, text] of texts.entries()) {
    if (index % SLICE === 0) {
      await Bun.sleep(0)
      signal.throwIfAborted()
    }
    for (const sentence of split(text)) sentences.push(sentence)
  }
  return sentences
}
