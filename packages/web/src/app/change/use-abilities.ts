import { useQuery } from '@tanstack/react-query'
import type { Abilities } from '../../api/home.js'
import { useHome } from '../sources/viewer-home.js'

const UNKNOWN: Abilities = {
  fork: 'not known yet',
  rerun: 'not known yet',
  step: 'not known yet',
}

/** What can be done with a run here, and why not. Asked again when the run's status changes. */
export function useAbilities(run: string, status: string): Abilities {
  const home = useHome()
  const { data } = useQuery({
    queryKey: ['abilities', run, status],
    queryFn: () => home.abilities(run),
    enabled: home.live !== undefined,
  })
  return data ?? UNKNOWN
}

/** A reason for a command that cannot be used now. */
export const reasonOf = (ability: true | string): string | undefined =>
  ability === true ? undefined : ability
