/**
 * Closings and farewells. "Anything else I can help with?" and "No, thank you, bye" follow every conversation, whether it went well or not, so
 * they are left out before its end is judged. Pure; bounded.
 */
import { isPoliteOnly } from './cues/turns.ts'

const anyOf = (...alternatives: readonly string[]) =>
  new RegExp(String.raw`(?<![\p{L}])(?:${alternatives.join('|')})(?![\p{L}])`, 'iu')

const CLOSING = anyOf(
  // English
  String.raw`(?:is there )?any ?thing else|that(?:'s|s| is|'ll be| will be) (?:all|it|everything)|nothing else|no,? (?:thanks|thank you)`,
  "you(?:'re| are)? (?:very |most )?welcome|no problem|my pleasure",
  '(?:glad|happy|pleased) (?:to|i could|we could|that i could|i was able to) (?:be able to )?(?:help|assist)',
  'thank(?:s| you)(?: (?:very|so) much)? for (?:contacting|calling|reaching|choosing|using|chatting|your (?:time|patience|call|business|purchase|feedback))',
  String.raw`have (?:a|an) (?:\w{1,12} ){0,2}(?:day|one|evening|night|weekend|week|afternoon|time|trip|flight|stay)`,
  "good ?bye|bye|take care|see you|feel free to|(?:don't|do not) hesitate|if you (?:have|need) any|(?:best|kind|warm)? ?regards|cheers|sincerely|enjoy",
  // German
  'gern(?:e)? geschehen|keine ursache|schönen? (?:tag|abend|wochenende)|noch (?:etwas|was)|auf wiedersehen|tschüss',
  '(?:freundliche|viele|beste|liebe)n? grüße?n?|mfg|lg|gruß|melden sie sich',
  // French
  "bonne (?:journée|soirée|continuation)|avec plaisir|de rien|je vous en prie|autre chose|cordialement|au revoir|n'hésitez pas|à bientôt|bien à vous",
  // Spanish
  'de nada|algo más|buen día|un saludo|saludos|hasta luego|adiós|no dude|que tengas?',
  // Italian
  'prego|di nulla|buona (?:giornata|serata)|cordiali saluti|saluti|arrivederci|non esit(?:are|i)|ciao',
  // Portuguese
  'mais alguma coisa|bom dia|atenciosamente|abraços?|até logo|disponha|por nada',
  // Dutch
  'graag gedaan|nog iets|fijne dag|vriendelijke groet(?:en)?|groet(?:en|jes)?|tot ziens|geen dank',
)
const CLOSING_JAPANESE = /どういたしまして|失礼します|失礼いたします|よろしくお願い|他に(?:ご|何か)/u
export const THANKS = anyOf(
  'thank(?:s| you| u)|thx|tks|ty|cheers|much appreciated|appreciate it|grateful|danke|vielen dank|besten dank|merci|gracias|grazie|obrigad[oa]|bedankt|dank (?:je|u)|dankjewel',
)
const ALL_THANKS = new RegExp(THANKS.source, 'giu')
const THANKS_JAPANESE = /ありがとう|有難う|感謝/u

/** A longer sentence says more than a farewell. */
const MAX_WORDS = 14
const MAX_LENGTH = 120
/** Words beside thanks that say nothing: "thanks a lot". */
const FEW = 2
const MAX_READ = 4_000

export interface Plain {
  /** The message without closings, farewells and bare thanks. Empty if it has nothing else. */
  readonly text: string
  readonly isThankful: boolean
  readonly isClosing: boolean
}

/** @param message masked */
export function withoutRitual(message: string): Plain {
  let [isThankful, isClosing] = [false, false]
  const kept = message
    .slice(0, MAX_READ)
    .split(/(?<=[.!?。！？])\s+|\n+|(?<=[。！？])/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => {
      if (sentence === '') return false
      const thanks = THANKS.test(sentence) || THANKS_JAPANESE.test(sentence)
      const closing = isFarewell(sentence)
      isThankful ||= thanks
      isClosing ||= closing
      return !closing && !isPoliteOnly(sentence) && !(thanks && wordsBesideThanks(sentence) <= FEW)
    })
  return { text: kept.join(' '), isThankful, isClosing }
}

function isFarewell(sentence: string): boolean {
  if (sentence.length > MAX_LENGTH || sentence.split(/\s+/).length > MAX_WORDS) return false
  return CLOSING.test(sentence) || CLOSING_JAPANESE.test(sentence)
}

const wordsBesideThanks = (sentence: string): number =>
  sentence.replace(ALL_THANKS, ' ').match(/[\p{L}\p{N}]+/gu)?.length ?? 0
