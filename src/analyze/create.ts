/** Creates the engines that the settings name. */
import type { Config } from '../config.ts'
import { createBuiltInAnalyzer } from './builtin/builtin.ts'
import { NAME, VERSION } from './builtin/version.ts'
import type { Analyzer } from './insight.ts'
import { createModelServerAnalyzer } from './model-server.ts'
import type { Summarizer } from './summarizer.ts'
import { createLocalSummarizer } from './summarizer-local.ts'
import { createOpenAiSummarizer } from './summarizer-openai.ts'
import type { TextWork } from './text-work.ts'

/** The configured server, or the built-in analyser. */
export function createAnalyzer(config: Pick<Config, 'analyze'>, textWork: TextWork): Analyzer {
  return config.analyze === null ? createBuiltInAnalyzer(textWork) : createModelServerAnalyzer(config.analyze)
}

/** The name and the version of the configured analyser. */
export function analyzerVersion(config: Pick<Config, 'analyze'>): Pick<Analyzer, 'name' | 'version'> {
  if (config.analyze === null) return { name: NAME, version: VERSION }
  const { name, version } = createModelServerAnalyzer(config.analyze)
  return { name, version }
}

/** The same for work that nobody waits for. The built-in analyser then has a text process of its own, at a low priority. */
export function createBackgroundAnalyzer(config: Pick<Config, 'analyze'>, textWork: TextWork): Analyzer {
  return config.analyze === null
    ? createBuiltInAnalyzer(textWork, 'all', 'insight_again')
    : createModelServerAnalyzer(config.analyze)
}

/** The configured server, or the built-in summariser. */
export function createSummarizer(config: Pick<Config, 'analyze'>, textWork: TextWork): Summarizer {
  return config.analyze === null
    ? createLocalSummarizer(textWork)
    : createOpenAiSummarizer(config.analyze, textWork)
}
