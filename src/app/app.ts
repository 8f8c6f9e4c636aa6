/** Mounts the parts of the HTTP interface in a fixed order. No logic. */

import { oauthPages } from '../access/sign-in/oauth/web.ts'
import { signInPages } from '../access/sign-in/web.ts'
import { analyzerParts } from '../analysis/analyze/examine.ts'
import { recorderHooks } from '../calls/meetings/hooks.ts'
import { uploadEndpoint } from '../calls/uploads/http/endpoint.ts'
import { consolePages } from '../console/web.ts'
import { traceEndpoint } from '../hear/otlp/endpoint.ts'
import { widgetPages } from '../hear/widget/web.ts'
import { createAuthenticate } from '../http/auth.ts'
import { createBodyBudget } from '../http/body-budget.ts'
import { docs } from '../http/docs.ts'
import { createHttpApp } from '../http/http-app.ts'
import { mediaRoutes } from '../http/media.ts'
import { mount } from '../http/mount.ts'
import { createFailureLimit, createLimit, createMeter } from '../http/rate-limit.ts'
import { mountWebsite, type WebsiteOptions } from '../http/website-mount.ts'
import { mailPart } from '../platform/mail/examine.ts'
import { healthRoutes } from '../platform/observability/health.ts'
import { discovery } from '../tell/discovery/routes.ts'
import { toolEndpoint } from '../tell/mcp/http/endpoint.ts'
import { protectedResourceMetadata } from '../tell/mcp/http/metadata.ts'
import { EVENT_TYPES } from '../tell/webhooks/event-types.ts'
import { webhooksPart } from '../tell/webhooks/examine.ts'
import { unsubscribePages } from '../tell/weekly-mail/web.ts'
import type { ServiceDeps } from './container.ts'
import { createFeatures, type Features } from './features.ts'

/** The whole HTTP interface. It does not listen yet. */
export function createApp(
  deps: ServiceDeps,
  options: {
    readonly website?: WebsiteOptions
    readonly features?: Features
    readonly draining?: AbortSignal
  } = {},
) {
  const features = options.features ?? createFeatures(deps)
  const { config } = deps
  const bodies = createBodyBudget({ maxBytes: config.maxBodyBytesAtOnce, deadlineMs: config.bodyTimeoutMs })
  const { draining } = options
  const forms = createMeter(deps, 'forms', config.rateLimits.forms, options.website?.windowSeconds)
  return createHttpApp(deps, draining)
    .use(
      healthRoutes({
        ...deps,
        draining,
        parts: [webhooksPart(deps.sql, config), mailPart(config), ...analyzerParts(config)],
      }),
    )
    .use(docs({ ...deps, sent: EVENT_TYPES }))
    .use(mediaRoutes(deps, features.playback.isShown))
    .use(uploadEndpoint(features))
    .use(recorderHooks({ ...deps, bodies }))
    .use(protectedResourceMetadata(config))
    .use(toolEndpoint({ ...deps, ...features, bodies }))
    .use(traceEndpoint({ ...deps, ...features, bodies }))
    .use(signInPages({ ...deps, ...features, bodies }))
    .use(unsubscribePages({ config, weeklyMails: features.weeklyMails }))
    .use(oauthPages({ ...deps, ...features, bodies }))
    .use(widgetPages({ ...deps, ...features, bodies, forms }))
    .use(consolePages(deps))
    .use(discovery(deps.config, features.content))
    .use(mountWebsite(features.website, { ...deps, bodies, work: deps.requestWork, forms }, options.website))
    .use(
      mount(features.operations, {
        newId: deps.newId,
        errors: deps.errors,
        bodies,
        work: deps.requestWork,
        authenticate: createAuthenticate({
          config,
          identity: features.identity,
          countFailure: createFailureLimit(deps),
        }),
        limit: createLimit(deps),
        recordRead: features.readLog.add,
      }),
    )
}
