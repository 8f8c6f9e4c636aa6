/** A conversation of ten turns with a made-up agent, which every example has. Two sentences occur twice, as in real ones. */
export const TURNS: readonly (readonly [question: string, answer: string])[] = [
  ['Can I export my invoices as CSV?', 'Yes, under Invoices, then Export.'],
  ['I see no Export there.', 'Are you an administrator of the workspace?'],
  ['Yes', 'Then please reload the page.'],
  ['Still nothing.', 'Which browser do you use?'],
  ['Firefox 150', 'Please try a private window.'],
  ['Now the menu is there!', 'Good. Does the export work?'],
  ['Yes', 'Anything else?'],
  ['Can it run every Monday?', 'Not yet. You can call the interface for that.'],
  ['How?', 'With GET /invoices.csv and your key.'],
  ['Thank you', 'Anything else?'],
]

/** Gives one answer after the other. */
export function nextAnswer(): () => string {
  let turn = 0
  return () => TURNS[turn++]?.[1] ?? 'I do not know.'
}
