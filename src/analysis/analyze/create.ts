/** Creates the engines that the settings name. */
import type { Config } from '../../kernel/config.ts'
import { createBuiltInAnalyzer } from './builtin/builtin.ts'
import { NAME, VERSION } from './builtin/version.ts'
import type { ChatServer } from './chat.ts'
import type { Analyzer } from './insight.ts'
import { createModelServerAnalyzer, VERSION as MODEL_SERVER_VERSION } from './model-server.ts'
import type { Summarizer } from './summarizer.ts'
import { createLocalSummarizer } from './summarizer-local.ts'
import { createOpenAiSummarizer } from './summarizer-openai.ts'
import type { TextWork } from './text-work.ts'
import type { TokenBudget } from './token-budget.ts'

/** What analysers and everything that works on texts are built over. */
export interface AnalyzerDeps {
  /** Reads and answers in words, if the operator has one. */
  readonly modelServer: ChatServer | null
  readonly textWork: TextWork
  readonly tokenBudget: TokenBudget
}

/** Part of an organization's tokens of a day that work in the background may reach, so that it leaves the rest to what arrives. */
export const BACKGROUND_SHARE = 0.5

/** The configured server, or the built-in analyser. The latter also reads in place of the server beyond the token budget. */
export function createAnalyzer({ modelServer, textWork, tokenBudget }: AnalyzerDeps): Analyzer {
  const builtIn = createBuiltInAnalyzer(textWork)
  if (modelServer === null) return builtIn
  return createModelServerAnalyzer(modelServer, { budget: tokenBudget, share: 1, otherwise: builtIn })
}

/** The name and the version of the configured analyser. */
export function analyzerVersion(config: Pick<Config, 'analyze'>): Pick<Analyzer, 'name' | 'version'> {
  if (config.analyze === null) return { name: NAME, version: VERSION }
  return { name: config.analyze.model, version: MODEL_SERVER_VERSION }
}

/** The same for background analyses. The built-in analyser then has a text process of its own, at a low priority. */
export function createBackgroundAnalyzer({ modelServer, textWork, tokenBudget }: AnalyzerDeps): Analyzer {
  const builtIn = createBuiltInAnalyzer(textWork, 'all', 'insight_background')
  if (modelServer === null) return builtIn
  const limits = { budget: tokenBudget, share: BACKGROUND_SHARE, otherwise: builtIn }
  return createModelServerAnalyzer(modelServer, limits)
}

/** The configured server, or the built-in summariser. */
export function createSummarizer({
  modelServer,
  textWork,
}: Pick<AnalyzerDeps, 'modelServer' | 'textWork'>): Summarizer {
  return modelServer === null
    ? createLocalSummarizer(textWork)
    : createOpenAiSummarizer(modelServer, textWork)
}
