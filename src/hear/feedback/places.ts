/** Where the operations on feedback are, and how they name a source. */
import { integerId } from '../../http/parameters.ts'

export const SOURCES = '/v3/rest/feedback-sources'
export const TAG = 'Feedback'
export const NO_SOURCE = 'feedback_source_not_found'

/** @throws AppError 404 if the parameter is not the id of any source */
export const sourceIdOf = (param: (name: string) => string) => integerId(param('feedbackSourceId'), NO_SOURCE)
