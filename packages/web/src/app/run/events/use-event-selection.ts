import { getRouteApi } from '@tanstack/react-router'
import { useCallback } from 'react'

const route = getRouteApi('/runs/$run')

export interface EventSelection {
  /** The list shows events. */
  readonly isOn: boolean
  readonly event: number | undefined
  readonly toggle: () => void
  readonly select: (event: number | undefined, options?: { readonly replace?: boolean }) => void
}

/** Whether events are listed, and which one is looked at, as the address says. */
export function useEventSelection(): EventSelection {
  const { list, event } = route.useSearch()
  const navigate = route.useNavigate()
  const toggle = useCallback(
    () =>
      void navigate({
        search: ({ list: old, event: _event, ...rest }) =>
          old === 'events' ? rest : { ...rest, list: 'events' },
      }),
    [navigate],
  )
  const select = useCallback<EventSelection['select']>(
    (next, { replace = false } = {}) =>
      void navigate({
        search: (old) => ({ ...old, list: 'events', event: next }),
        replace,
      }),
    [navigate],
  )
  return { isOn: list === 'events', event, toggle, select }
}
