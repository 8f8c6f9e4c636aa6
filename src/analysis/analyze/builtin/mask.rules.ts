/**
 * Masks what a customer quotes or pastes: code, logs, quotations, addresses. It becomes spaces, so offsets stay as they are. Pure; linear
 * in the text, because every pattern has bounded repetitions or stops at the end of a line.
 */

/** UTF-16 code units of one message that are read. */
export const MAX_MESSAGE = 4_000

const MASKS: readonly RegExp[] = [
  // Code blocks and inline code.
  /```[\s\S]*?(?:```|$)/g,
  /`[^`\n]{1,300}`/g,
  // Quoted mail.
  /^[ \t]{0,4}>[^\n]*/gm,
  // Stack frames and log lines.
  /^[ \t]{0,8}at [^\n]{1,200}:\d{1,7}\)?[ \t]{0,4}$/gm,
  /^[ \t]{0,8}File "[^"\n]{1,300}", line \d{1,7}[^\n]*/gm,
  /^[ \t]{0,4}\[?(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d[.,\]\s]|(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)[\]:\s])[^\n]*/gm,
  // Quotations.
  /"[^"\n]{1,400}"/g,
  /“[^”\n]{1,400}”/g,
  /„[^“”\n]{1,400}[“”]/g,
  /«[^»\n]{1,400}»/g,
  /「[^」\n]{1,400}」/g,
  /『[^』\n]{1,400}』/g,
  // Addresses.
  /\b(?:https?:\/\/|www\.)\S{1,500}/g,
  /(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,60}(?:\.[\w-]{1,20}){1,4}/g,
]

/** The beginning of a message with typed apostrophes, and spaces for what is not the customer's own words. */
export function mask(message: string): string {
  let text = message.slice(0, MAX_MESSAGE).replace(/[\u2018\u2019\u02bc]/g, "'")
  for (const pattern of MASKS) text = text.replace(pattern, (found) => ' '.repeat(found.length))
  return text
}

/** A request to produce or change a text. What it speaks of is material, not the customer's own case. */
const TASK =
  /^\s{0,20}(?:hi,? |hello,? |hey,? |ok,? |okay,? |now |and )?(?:please |can you |could you |would you |i need you to |i want you to |help me )?(?:please )?(?:write|draft|translate|summari[sz]e|generate|compose|rewrite|rephrase|reword|proofread|paraphrase|classify|brainstorm|role-?play|pretend|act as|imagine|suppose|review this|analy[sz]e (?:this|the following)|refactor|debug|optimi[sz]e|fix (?:this|the|my) (?:code|function|script|query|snippet|regex|sentence|paragraph)|(?:give|make|create) (?:me )?(?:a |an |\d+ |some |\w+ )?(?:ideas?|examples?|titles?|reviews?|poem|story|joke|slogans?|list of|headlines?)|schreib|übersetz|fasse?|formulier|écris|rédige|tradui[st]|résume|escrib[ea]|traduc[ei]|redact[ae]|resum[ea]|escreva|traduza|resuma|schrijf|vertaal|vat )(?![\p{L}])|(?:翻訳|要約)して|書いてください/iu

/** A task stands in the beginning of a message. */
const TASK_BEGINNING = 200

/** True if a masked message asks for a text to be written, translated, summarised or judged. */
export function isTask(masked: string): boolean {
  return TASK.test(masked.slice(0, TASK_BEGINNING))
}
