/** Creates the summariser that the settings name. */
import type { Config } from '../config.ts'
import type { Summarizer } from './summarizer.ts'
import { createLocalSummarizer } from './summarizer-local.ts'
import { createOpenAiSummarizer } from './summarizer-openai.ts'
import type { TextWork } from './text-work.ts'

/** The configured server, or the built-in summariser. */
export function createSummarizer(config: Pick<Config, 'analyze'>, textWork: TextWork): Summarizer {
  return config.analyze === null
    ? createLocalSummarizer(textWork)
    : createOpenAiSummarizer(config.analyze, textWork)
}
