/** Tells short texts apart by frequent words, where a statistical detector is unreliable. Pure. */

/** Languages that it has rules for. */
const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'ja'] as const
export type Language = (typeof LANGUAGES)[number]

/** Languages that it analyses: those with enough labelled text to measure it. In the others "nothing found" would mislead. */
export const ANALYZED: ReadonlySet<string> = new Set<Language>(['en', 'de', 'fr', 'es', 'it', 'pt', 'nl'])

const FREQUENT: Readonly<Record<Exclude<Language, 'ja'>, string>> = {
  en: "the a an is are was i you it and to of in my not don't can't how what does do with for on that this please but have has when where which there still your we thanks works it's i'm can be would no yes me working work broken again same got help need human",
  de: 'der die das und ist ich nicht ein eine zu mit auf für wie wo bitte aber mein meine sie wir es den dem von kann wird noch immer wenn was danke habe hat bei im an man einen sehr',
  fr: 'le la les et est je ne pas un une des du de que vous nous mon ma pour avec sur comment où dans ça ce il qui mais merci toujours au plus en très a',
  es: 'el la los las y es no un una de que en mi por para con cómo dónde pero se me lo sale al gracias sigue muy está si ya hay quiero nuestra eso del',
  it: 'il lo la i gli le e è non un uno una di che in mi mio mia per con come dove ma si se sono ho ha del della al alla da questo quando più grazie posso anche ancora sempre',
  pt: 'o a os as e é não um uma de que em meu minha por para com como onde mas se eu já ainda muito está obrigado seria ao do da isso posso quando poder os nos',
  nl: 'de het een en is ik niet van op met voor hoe waar maar mijn je wij dat nog steeds als kan wat er bij bedankt graag zou al te om aan dank we hij heel',
}

const SETS = Object.entries(FREQUENT).map(
  ([language, words]) => [language as Language, new Set(words.split(' '))] as const,
)

const MAX_WORDS = 60

/** The language with most frequent words in the text; null if two have as many, or none has any. */
export function languageByWords(text: string): Language | null {
  if (/[\u3041-\u30ff]/.test(text)) return 'ja'
  const words = (text.toLowerCase().match(/[\p{L}']{1,30}/gu) ?? []).slice(0, MAX_WORDS)
  let best: Language | null = null
  let most = 0
  for (const [language, set] of SETS) {
    const count = words.filter((word) => set.has(word)).length
    if (count > most) [best, most] = [language, count]
    else if (count === most) best = null
  }
  return best
}
