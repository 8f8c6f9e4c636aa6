/** Reviews of apps that were grouped by hand: the problem of each by id in data/insight/public, and the text in a folder of the public sources. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Labelled } from './theme-set.ts'

const PATH = join(import.meta.dir, '../../data/insight/public/review-themes.tsv')
const FILE = 'is22-app-reviews.en.jsonl'

/** @param folder has the files of data/insight/public/sources.json */
export function readReviews(folder: string): readonly Labelled[] {
  const texts = new Map(
    readFileSync(join(folder, FILE), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; text: string })
      .map(({ id, text }) => [id, text]),
  )
  return readFileSync(PATH, 'utf8')
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .map((line) => {
      const [topic = '', id = ''] = line.split('\t')
      return { topic, text: texts.get(id) ?? '' }
    })
}
