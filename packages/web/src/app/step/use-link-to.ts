import { useParams, useRouter } from '@tanstack/react-router'
import { useCallback } from 'react'

export interface LinkTarget {
  readonly step: string
  readonly tab?: string | undefined
  readonly field?: string | undefined
}

/** Makes addresses of places in this run, whole, to be handed to others. */
export function useLinkTo(): (target: LinkTarget) => string {
  const router = useRouter()
  const { run } = useParams({ from: '/runs/$run' })
  return useCallback(
    ({ step, tab, field }) => {
      const { href } = router.buildLocation({
        to: '/runs/$run',
        params: { run },
        search: { step, ...(tab !== undefined && { tab }), ...(field !== undefined && { field }) },
      })
      return new URL(router.history.createHref(href), location.href).href
    },
    [router, run],
  )
}
