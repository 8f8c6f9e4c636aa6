/** Chooses the analyser that the settings name. */
import type { Config } from '../config.ts'
import type { Analyzer } from './analyzer.ts'
import { createLocalAnalyzer } from './local.ts'
import { createOpenAiAnalyzer } from './openai.ts'

/** The configured server where there is one, else the built-in analyser. */
export function createAnalyzer(config: Pick<Config, 'analyze'>): Analyzer {
  return config.analyze === null ? createLocalAnalyzer() : createOpenAiAnalyzer(config.analyze)
}
