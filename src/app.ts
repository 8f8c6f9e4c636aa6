/**
 * Mounts what the HTTP interface has, in a fixed order: error hook, request ids, docs, operations. No logic.
 */
import { Elysia } from 'elysia'
import type { Deps } from './container.ts'
import { discovery } from './discovery/routes.ts'
import { createFeatures, type Features } from './features.ts'
import { createAuthenticate } from './http/auth.ts'
import { createBodyRoom } from './http/body-room.ts'
import { CLIENT_GONE, ClientGone } from './http/client-gone.ts'
import { docs } from './http/docs.ts'
import { renderError, toAppError } from './http/error-handler.ts'
import { mediaRoutes } from './http/media.ts'
import { mount } from './http/mount.ts'
import { createFailureLimit, createLimit } from './http/rate-limit.ts'
import { REQUEST_ID_HEADER, requestIdOf } from './http/request-id.ts'
import { requestLog } from './http/request-log.ts'
import { shownPath } from './http/shown-path.ts'
import { mountWebsite, type WebsiteOptions } from './http/website-mount.ts'
import { AppError } from './platform/errors.ts'
import { healthRoutes } from './platform/health.ts'
import { uploadEndpoint } from './uploads/http/endpoint.ts'

/** The whole HTTP interface over one `Deps`. Not listening yet. */
export function createApp(
  deps: Deps,
  options: { readonly website?: WebsiteOptions; readonly features?: Features } = {},
) {
  const features = options.features ?? createFeatures(deps)
  const bodies = createBodyRoom(deps.config.maxBodyBytesAtOnce)
  return new Elysia({
    normalize: false,
    // JSON operations cap their own bodies while reading; uploads are larger than any default.
    serve: { maxRequestBodySize: Number.MAX_SAFE_INTEGER, idleTimeout: 60 },
  })
    .onRequest(({ request, set }) => {
      set.headers[REQUEST_ID_HEADER] = requestIdOf(request, deps.newId)
    })
    .onError(({ code, error, request, set }) => {
      if (error instanceof ClientGone) {
        set.status = CLIENT_GONE
        return new Response(null, { status: CLIENT_GONE })
      }
      const context = {
        path: shownPath(new URL(request.url).pathname),
        requestId: String(set.headers[REQUEST_ID_HEADER] ?? ''),
        now: deps.clock.now(),
      }
      const failure =
        code === 'NOT_FOUND' ? new AppError('not_found', 'There is nothing at this address.') : error
      const response = renderError(toAppError(failure, context, deps.log), context)
      set.status = response.status
      return response
    })
    .use(requestLog(deps))
    .use(healthRoutes(deps))
    .use(docs(deps.config))
    .use(mediaRoutes(deps, features.playback.isShown))
    .use(uploadEndpoint(features))
    .use(discovery(deps.config, features.content))
    .use(mountWebsite(features.website, { ...deps, bodies }, options.website))
    .use(
      mount(features.operations, {
        newId: deps.newId,
        bodies,
        authenticate: createAuthenticate({
          identity: features.identity,
          countFailure: createFailureLimit(deps),
        }),
        limit: createLimit(deps),
      }),
    )
}
