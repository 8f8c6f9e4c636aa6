/** The built-in analyser, which runs in the text process. */
import type { Insight, Subject } from '../insight.ts'
import type { Cues } from './cues/cues.ts'
import { DUTCH } from './cues/dutch.ts'
import { ENGLISH } from './cues/english.ts'
import { FRENCH } from './cues/french.ts'
import { GERMAN } from './cues/german.ts'
import { JAPANESE } from './cues/japanese.ts'
import { PORTUGUESE } from './cues/portuguese.ts'
import { SPANISH } from './cues/spanish.ts'
import { findingsByRules } from './findings.rules.ts'
import { LANGUAGES, type Language } from './language.rules.ts'
import type { DetectLanguage } from './language.ts'
import { judge } from './outcome.rules.ts'
import { readSubject, wordsOfCustomer } from './reading.rules.ts'

const CUES: Readonly<Record<Language, Cues>> = {
  en: ENGLISH,
  de: GERMAN,
  fr: FRENCH,
  es: SPANISH,
  pt: PORTUGUESE,
  nl: DUTCH,
  ja: JAPANESE,
}

/** Findings by rules, outcome and sentiment. A text whose language cannot be told is read in all of them. */
export function analyzeByRules(subject: Subject, detect: DetectLanguage): Insight {
  const reading = readSubject(subject)
  const language = detect(wordsOfCustomer(reading))
  const known = LANGUAGES.find((one) => one === language)
  if (language !== null && known === undefined)
    return { language, supported: false, outcome: null, sentiment: 'neutral', findings: [] }
  const findings = findingsByRules(reading, known === undefined ? Object.values(CUES) : [CUES[known]])
  return { language, supported: true, ...judge(reading, findings), findings }
}
