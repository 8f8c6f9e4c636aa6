/** Questions by their form. Pure. The text is a clause: lower case, masked, bounded. */
import type { Clause } from './clauses.rules.ts'

/** What may stand before a question. */
const OPENING =
  '(?:(?:hello|hi|hey|ok|okay|alright|and|so|but|um|uh|one question|quick question|question|no|please|also|sorry|thanks|und|et|e|en|y),? ?:?){0,4}'

const ENGLISH = new RegExp(
  `^${OPENING} ?(?:how (?:do|can|could|would|should|long|many|much|often|to|does|is|are|did|come)|what(?:'s| is| are| was| does| do| happens| kind| will| would|s| about)|where(?:'s| is| are| do| can| did|s)?|which|who|when|why|is (?:there|it|this|that|the|my|your)|are (?:there|you|the|your|we)|do (?:you|i|we)|does|did|can (?:i|we|a|the|you|it|one)|could (?:i|we)|will|should|may i|would it|am i|has|have you)(?= |$)`,
  'u',
)
const INDIRECT =
  /(?:wants? to know|(?:i was |i'm |i am |just )?wondering (?:if|whether|how|what)|(?:could|can) you (?:please )?(?:tell|explain to) me|tell me (?:how|where|what|why)|is it possible to|any way to|(?:i )?need to know|(?:do you|does anyone) know (?:if|how|what|where|when|whether|why))/u
const OTHER =
  /^(?:und |¿|et |e |en |y ){0,2}(?:wie|wo|was|wann|warum|welche[rs]?|wer|kann (?:ich|man)|gibt es|ist es|comment|où|combien|quand|pourquoi|quel(?:le)?s?|est-ce que|peut-on|puis-je|cómo|dónde|cuánto|cuándo|por qué|qué|hay|puedo|se puede|como|onde|quanto|quando|por que|qual|existe|posso|tem como|hoe|waar|wat|wanneer|waarom|welke|kan ik|is er)(?= |$)/u
const JAPANESE = /ですか|ますか|でしょうか|教えてください|教えて下さい/u

/** These have the form of a question and want no answer. */
const RHETORICAL =
  /how is this|who cares|what a |why bother|seriously\?|is this a joke|are you kidding|what for$|are you sure|is that all|how are you|what's the point|how hard (?:can|is)|why (?:on earth|the hell|would anyone)/u

/** Without a question mark it must be a whole sentence of a chat, because statements begin like this, too. */
const WITHOUT_MARK = /^(?:how (?:do|can|to)|where|why|what (?:is|are|does)|when|which)/u
const MIN_WORDS = 4

/** True if a clause asks for information. */
export function isQuestion({ text, question }: Clause, isChat: boolean): boolean {
  if (RHETORICAL.test(text)) return false
  if (INDIRECT.test(text) || JAPANESE.test(text)) return true
  if (!ENGLISH.test(text) && !OTHER.test(text)) return false
  return question || (isChat && WITHOUT_MARK.test(text) && text.split(' ').length >= MIN_WORDS)
}
