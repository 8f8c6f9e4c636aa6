/** The writer of findings, for features that store the findings of their own objects, and what was found out about subjects. */
import type { Query } from '../../platform/db/pool.ts'
import type { Version } from './finding.rules.ts'
import * as store from './findings.store.ts'
import * as subjectStore from './subjects.store.ts'

export type { Stored } from './findings.store.ts'
export { NEVER_ANALYSED, saveReadings } from './save.ts'
export type { SubjectKey, SubjectRow } from './subjects.store.ts'

/** What is stored of sessions, by id, for `saveReadings`. To be read behind the sessions' row locks. */
export function readSessionFindings(
  tx: Query,
  ids: readonly string[],
): Promise<ReadonlyMap<string, store.Stored>> {
  return store.readStored(tx, 'conversation', ids)
}

/** The analyser has given up on a session that is locked. The session keeps what it has until there is another analyser. */
export function giveUpSession(tx: Query, id: string, analyzer: Version): Promise<void> {
  return store.markRead(tx, 'conversation', id, analyzer)
}

/** Outcome, area and analyser of subjects. Those that no analyser has seen are missing. The caller has checked access. */
export const readSubjects = (
  sql: Query,
  organizationId: string,
  subjects: readonly subjectStore.SubjectKey[],
): Promise<readonly subjectStore.SubjectRow[]> => subjectStore.readSubjects(sql, organizationId, subjects)
