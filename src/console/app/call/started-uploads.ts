/** Files that were dropped on this page and are to be sent, by recording. */
export const startedUploads = new Map<string, File>()
