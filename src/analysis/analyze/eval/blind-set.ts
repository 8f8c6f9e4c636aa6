/** The blind set that comes with the service. Nothing was tuned on it. */
import blind from '../../../../data/insight/blind.jsonl' with { type: 'text' }
import { type Item, parseItems } from './items.ts'

export const blindSet = (): readonly Item[] => parseItems(blind)
