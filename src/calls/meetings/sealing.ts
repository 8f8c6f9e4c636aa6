/** Seals the links of meetings, which contain passwords and the tokens of registrants. */
import type { Config } from '../../kernel/config.ts'
import { createSeal, type Seal } from '../../platform/secrets/seal.ts'

/** The context of a sealed link is the id of its join. */
export function createLinkSeal(config: Pick<Config, 'dataDir' | 'secretKey'>): Seal {
  return createSeal(config, 'meetings', 'meeting links')
}
