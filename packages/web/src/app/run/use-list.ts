import { getRouteApi } from '@tanstack/react-router'
import { useCallback } from 'react'
import { useNarrow } from './use-narrow.js'

/** What stands beside the step that is looked at. */
export type ListName = 'steps' | 'events' | 'blame'

const route = getRouteApi('/runs/$run')

export interface ShownList {
  readonly list: ListName
  readonly show: (list: ListName) => void
}

/** Which list is shown, as the address says. Where there is room for one only, it takes the place of the step. */
export function useList(): ShownList {
  const { list = 'steps' } = route.useSearch()
  const navigate = route.useNavigate()
  const isNarrow = useNarrow()
  const show = useCallback<ShownList['show']>(
    (next) =>
      void navigate({
        search: ({ list: _list, event: _event, step, ...rest }) => ({
          ...rest,
          ...(next !== 'steps' && { list: next }),
          ...(step !== undefined && !isNarrow && { step }),
        }),
      }),
    [navigate, isNarrow],
  )
  return { list, show }
}
