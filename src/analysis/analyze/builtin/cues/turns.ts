/** Words that turn a cue around, and words with which people say something else than they mean. */
import { anywhere, type Cues, words } from './cues.ts'

/** A cue of this kind in the same clause does not count. */
export const NEGATED: Cues = {
  bug_report: words(
    String.raw`(?:doesn't|does not|don't|never|didn't|no longer|not|hasn't|without|no) (?:\w+ ){0,2}(?:crash|freeze|hang|fail|problem|error|bug|lag)\w{0,3}`,
    'never had|by design|what if|keine? (?:fehler|probleme)',
  ),
  praise: words(
    String.raw`(?:not|never|no longer|hardly|isn't|wasn't|don't|didn't|doesn't|nothing) (?:\w+ ){0,2}(?:love|like|great|amazing|awesome|good|happy|helpful|recommend|perfect|impressed|easy|intuitive|satisfied|useful|well|fast|the best)`,
    "would(?:n't| not) recommend|used to (?:love|like|be)|if you enjoy|would be",
    'be (?:really |very |super )?(?:great|nice|awesome|useful|helpful|cool|amazing|handy|lovely)',
    'game changer$|would love|could be (?:better|faster)',
    String.raw`nicht (?:\w+ )?(?:gut|zufrieden|empfehlen|hilfreich)`,
    String.raw`pas (?:\w+ )?(?:bien|bon|satisfaite?|recommande)|wäre|serait|sería|estaría|seria|zou`,
  ),
  resolved_confirmation: words(
    String.raw`(?:not|never|nothing|no|didn't|doesn't|isn't|hasn't) (?:\w+ ){0,2}(?:worked|works|work|solved|fixed|helped|helps|resolved|found|sorted)`,
    "half (?:worked|works)|until|if (?:it|that|this) works|haven't|hasn't|didn't|still",
    'was fixed last|nicht|toujours pas|ne .{1,20} pas|no funciona|sin funcionar|não|niet',
  ),
  complaint: words(
    'no complaints|nothing to complain',
    "not (?:too |so |at all )?(?:terrible|bad|awful|annoying|frustrating)|isn't (?:too )?bad",
    'no longer (?:annoying|slow)|not too (?:expensive|slow|complicated)|nicht (?:zu )?(?:teuer|schlecht)',
  ),
  churn_risk: words(
    String.raw`(?:don't|do not|not|never|no intention (?:of|to)|wouldn't) (?:\w+ ){0,3}(?:cancel|switch|leave|leaving|switching)`,
    'cancel (?:the|my|this) (?:order|upload|download|meeting|appointment|booking)',
  ),
  confusion: words(String.raw`(?:not|no longer|never) (?:\w+ )?(?:confus\w+|lost)`),
  human_requested: words(
    'person under|a person (?:under|over|with)|per person|another person|one person',
    'more than one person|needs? (?:a |an )?(?:agent|manager) (?:role|account)|user agent',
    'agent (?:mode|api|config)|nobody had to call',
  ),
  wrong_answer: words("(?:wasn't|isn't|not) (?:wrong|incorrect|false)|nothing wrong"),
}

/** Praise that means the opposite. */
const SARCASM = words(
  'thanks for nothing',
  "(?:oh|wow|gee|yay)[,.!]? (?:that's |this is |how )?(?:really |so |just |absolutely )?(?:great|fantastic|brilliant|wonderful|lovely|amazing|perfect|helpful|joy|impressive)",
  '(?:great|wonderful|fantastic|brilliant|lovely|nice|perfect|awesome)[,.!]? (?:another|yet another|now (?:it|i|my)|so now|more)',
  'just what i needed|exactly what i was hoping for:|if you enjoy|as if|what a (?:joke|surprise)',
  'slow clap|good luck with that|they said',
  String.raw`love (?:how|that|it when) (?:it|you|the|my) (?:\w+ )?(?:crash|break|lose|delete|never|always|ignore)\w{0,3}`,
)
const MOCKING = anywhere(String.raw`\/s$`, '🙄', '🤡', '🙃')

export function isSarcastic(clause: string): boolean {
  return SARCASM.test(clause) || MOCKING.test(clause)
}

/** What somebody says who tried what was proposed in vain, or who lacks what was described. */
export const NO_LUCK = words(
  String.raw`(?:tried|did|done) (?:that|it|this|all|both|everything|\w+ browsers)`,
  'nothing (?:changed|helped|works|worked)|no (?:luck|change|difference|success)',
  "didn't (?:help|work|change)|doesn't (?:help|work)|not working",
  "that's not (?:it|helping|the problem|what i)|i have the newest",
  "(?:is|it's) (?:fine|correct there|on)(?:,|$)|there'?s no|there is no|that isn't rounding",
  "did that|twice|still (?:not|nothing|the same|no|doesn't|don't|isn't|can't|won't)",
  'hilft (?:mir )?(?:leider )?nicht|habe ich (?:schon )?(?:gemacht|versucht)|déjà (?:fait|essayé)',
  'ya lo (?:hice|intenté|probé)|já (?:tentei|fiz|redefini)|al geprobeerd',
)

const POLITE = new Set(
  `ok okay k oh great alright right all fine cool good yes yeah yep no nope sure perfect nice i see to know got that it thx thanks thank you
  cheers ty bye goodbye merci danke gracias obrigado obrigada bedankt dank je so much very a lot anyway mate super prima bien d'accord vale
  tudo bem beaucoup muchas muito vielen wel not bad for the your help info quick reply have day one too appreciate appreciated awesome
  wonderful excellent lovely will do noted understood hi hello hey there again kindly in advance ありがとうございます ありがとう わかりました 了解しました`.split(
    /\s+/,
  ),
)

/** Politeness has few words. */
const MAX_POLITE_WORDS = 14

/** True if a message consists of polite words and nothing else. It says nothing about the matter. */
export function isPoliteOnly(message: string): boolean {
  const found = message.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? []
  return found.length > 0 && found.length <= MAX_POLITE_WORDS && found.every((word) => POLITE.has(word))
}
