import { useQuery } from '@tanstack/react-query'
import type { Abilities } from '../../api/run-repository.js'
import { explainError } from '../sources/backend-error.js'
import { useBackend } from '../sources/backend.js'

const UNKNOWN: Abilities = {
  fork: 'not known yet',
  rerun: 'not known yet',
  step: 'not known yet',
}

/** Fetched again when the status of the run changes. */
export function useAbilities(run: string, status: string): Abilities {
  const backend = useBackend()
  const { data, error } = useQuery({
    queryKey: ['abilities', run, status],
    queryFn: () => backend.abilities(run),
    enabled: backend.live !== undefined,
  })
  if (data !== undefined) return data
  if (error === null) return UNKNOWN
  const { what } = explainError(error)
  return { fork: what, rerun: what, step: what }
}

export const reasonOf = (ability: true | string): string | undefined =>
  ability === true ? undefined : ability
