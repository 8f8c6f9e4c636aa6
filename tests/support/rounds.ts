/**
 * How much a test tries: generated bodies, kills, states of a model. A check tries what takes seconds, and `bun run check --thorough`
 * tries more.
 */

const IS_THOROUGH = process.env.EARSHOT_THOROUGH === 'true'

/** `usual` in a check, `thorough` in a thorough one. */
export const rounds = <T>(usual: T, thorough: T): T => (IS_THOROUGH ? thorough : usual)
