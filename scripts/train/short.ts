/** Which labelled files teach only the head for short messages. */

/**
 * Short, blunt clauses; and items that are easier, shorter or more alike than what customers write. With them the judge finds praise and the
 * wish to leave in longer texts where there is none.
 */
const ONLY_FOR_SHORT = ['e.tsv', 'c.jsonl', 'd.jsonl', 'e.jsonl', 'f.jsonl']

export const isUsual = ({ file }: { readonly file: string }): boolean => !ONLY_FOR_SHORT.includes(file)
