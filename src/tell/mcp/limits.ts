/** Calls that one process has open for all organizations, without those that wait for a user. */
export const MAX_OPEN_CALLS = 512
