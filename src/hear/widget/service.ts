/** Use cases of web pages with a publishable key. They only send: no answer depends on what is stored. */

import { transactionWithOutbox } from '../../actors/mailbox.ts'
import type { Deps } from '../../kernel/deps.ts'
import { visitorFeedbackMessages } from '../../kernel/messages/visitor-feedback.ts'
import type { PagePrincipal } from '../../kernel/principal.ts'
import { databaseTime } from '../../platform/db/database-time.ts'
import { AppError } from '../../platform/errors.ts'
import { validate } from '../../platform/validation/json.ts'
import type { Applications } from '../agents/applications/service.ts'
import { FORMS } from '../website/model.ts'
import { isFromRobot, trimmed } from '../website/rules.ts'
import type { Website } from '../website/service.ts'
import { PageFeedback } from './model.ts'
import { responseActorId } from './rules.ts'

export interface Widget {
  /** Queues feedback. Whether the session exists shows only later, and only inside. @throws AppError 400 */
  feedback(page: PagePrincipal, body: unknown): Promise<void>
  /** @throws AppError 400, 404 */
  form(name: string, body: unknown): Promise<void>
}

type WidgetDeps = Pick<Deps, 'sql' | 'notifier'> & {
  readonly applications: Pick<Applications, 'loadForIngest' | 'previewRedaction'>
  readonly website: Website
}

export function createWidget({ applications, website, ...deps }: WidgetDeps): Widget {
  /** The comment as it may be stored: rules of the application apply before anything is stored. */
  async function storable(page: PagePrincipal, comment: string | undefined): Promise<string | undefined> {
    if (comment === undefined || comment.trim() === '') return undefined
    const { settings } = await applications.loadForIngest(page.organizationId, page.applicationId)
    if (!settings.captureContent) return undefined
    return applications.previewRedaction(page.organizationId, comment.trim(), settings)
  }
  return {
    async feedback({ organizationId, applicationId, keyId }, body) {
      const { session, message, rating, comment } = validate(PageFeedback, body)
      const kept = await storable({ organizationId, applicationId, keyId, origins: [] }, comment)
      const payload = {
        organizationId,
        applicationId,
        keyId,
        externalSessionId: session,
        targetId: message,
        rating,
        ...(kept === undefined ? {} : { comment: kept }),
      }
      const actor = responseActorId(applicationId, session, message)
      await transactionWithOutbox(deps, async (tx, outbox) => {
        const received = { ...payload, receivedAt: await databaseTime(tx) }
        await outbox.send([
          visitorFeedbackMessages.message(actor, 'store', { organizationId, payload: received }),
        ])
      })
    },
    async form(name, body) {
      const form = FORMS.find((one) => one.name === name)
      if (form === undefined) throw new AppError('not_found', 'There is no such form.')
      if (isFromRobot(body)) return
      await website.submit(form, validate(form.body, trimmed(body)))
    },
  }
}
