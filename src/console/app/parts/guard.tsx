/** Keeps the frame when a page cannot be drawn, and says what happened. The next page is tried again. */
import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { Title } from './small.tsx'

export function Guard({ children }: { readonly children: ComponentChildren }) {
  const { url } = useLocation()
  const failedAt = useRef(url)
  const [error, reset] = useErrorBoundary(() => {
    failedAt.current = url
  })
  useEffect(() => {
    if (error !== undefined && failedAt.current !== url) reset()
  }, [error, reset, url])
  if (error === undefined) return <>{children}</>
  return (
    <>
      <Title text="This page cannot be shown" />
      <div class="note" role="alert">
        <h2>The console made an error</h2>
        <p>{String(error)}</p>
        <p>Reload the page. If it happens again, tell the operator of this service these words.</p>
      </div>
    </>
  )
}
