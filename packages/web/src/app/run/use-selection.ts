import { getRouteApi } from '@tanstack/react-router'
import { useCallback } from 'react'

const route = getRouteApi('/runs/$run')

/** Which step, tab and field is looked at. It stands in the address, so it can be linked and gone back to. */
export interface Selection {
  readonly step: string | undefined
  readonly tab: string | undefined
  readonly field: string | undefined
  /** `replace` for moves that nobody wants to undo one by one, like holding a key. */
  readonly select: (
    step: string,
    options?: { tab?: string; field?: string; replace?: boolean },
  ) => void
  readonly show: (tab: string, field?: string) => void
  /** No step is looked at any more. */
  readonly leave: () => void
}

export function useSelection(): Selection {
  const { step, tab, field } = route.useSearch()
  const navigate = route.useNavigate()
  const select = useCallback<Selection['select']>(
    (next, { replace = false, ...place } = {}) =>
      void navigate({
        search: ({ field: _field, ...rest }) => ({ ...rest, step: next, ...place }),
        replace,
      }),
    [navigate],
  )
  const show = useCallback<Selection['show']>(
    (next, at) =>
      void navigate({
        search: ({ field: _field, ...rest }) => ({
          ...rest,
          tab: next,
          ...(at !== undefined && { field: at }),
        }),
        replace: true,
      }),
    [navigate],
  )
  const leave = useCallback(
    () =>
      void navigate({
        search: ({ step: _step, tab: _tab, field: _field, ...rest }) => rest,
      }),
    [navigate],
  )
  return { step, tab, field, select, show, leave }
}
