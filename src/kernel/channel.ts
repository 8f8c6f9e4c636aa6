/** The channels through which customers are heard. */
export const CHANNELS = ['recording', 'feedback', 'conversation'] as const
export type Channel = (typeof CHANNELS)[number]
