/** The id of a person in a path. */
import { Type } from '@sinclair/typebox'
import { integerId, integerIdOf, uuidOf } from '../http/parameters.ts'
import { isUuid } from '../platform/ids.ts'
import type { PersonRef } from './directory.ts'

export const personIdParameter = Type.Union([integerIdOf('person'), uuidOf('person')], {
  description:
    'The `id` or the `uuid` of the person. That of a person who was merged means the one who was kept.',
})

/** @throws AppError 404 `person_not_found` if it is neither */
export const personRef = (text: string): PersonRef =>
  isUuid(text) ? text.toLowerCase() : integerId(text, 'person_not_found')
