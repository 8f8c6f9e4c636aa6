/**
 * How much a test tries: generated bodies, kills, states of a model.
 *
 * A check tries what takes seconds. `bun run check --thorough` tries several times as much, with other random values, and takes
 * about half as long again.
 */

const IS_THOROUGH = process.env.EARSHOT_THOROUGH === 'true'

/** `usual` in a check, `thorough` in a thorough one. */
export const rounds = <T>(usual: T, thorough: T): T => (IS_THOROUGH ? thorough : usual)
