import { useEffect, useRef } from 'react'
import type { Move } from '../../api/session-view.js'
import { useCommands } from '../commands/use-commands.js'
import type { Run } from '../run/use-run.js'
import { useSelection } from '../run/use-selection.js'
import type { LiveActions } from '../sources/live-actions.js'
import { standingOf, useStanding, type Standing } from './standing.js'
import { reasonOf, useAbilities } from './use-abilities.js'

/**
 * Ties the session of a run to the selected step, both ways, while a session is
 * open, and offers its moves as commands. Leaving the run closes the session.
 */
export function useStandingMoves(run: Run, live: LiveActions): Standing {
  const store = standingOf(run.id, live)
  const standing = useStanding(store)
  const { step, select, show } = useSelection()
  const { step: ability } = useAbilities(run.id, run.head.status)
  const at = stepOf(standing)
  const followed = useRef<string>(undefined)

  useEffect(() => {
    if (at === undefined || at === followed.current) return
    followed.current = at
    select(at, { replace: true })
  }, [at, select])
  useEffect(() => {
    if (step === undefined || step === followed.current || !store.isOpen) return
    followed.current = step
    void store.move({ to: 'step', step })
  }, [step, store])
  useEffect(() => {
    const close = (): void => store.close()
    addEventListener('pagehide', close)
    return () => {
      removeEventListener('pagehide', close)
      close()
    }
  }, [store])

  const cannot = reasonOf(ability)
  const stand = (): void => {
    if (step === undefined) return
    followed.current = step
    show('state')
    void store.move({ to: 'step', step })
  }
  const isOpen = standing.phase !== 'closed'
  const moving = (id: string, title: string, keys: readonly string[], to: Move) => ({
    id: `stand-${id}`,
    title,
    group: 'Move' as const,
    keys,
    disabled: cannot ?? (isOpen || step !== undefined ? undefined : 'select a step first'),
    run: () => (isOpen ? void store.move(to) : stand()),
  })
  useCommands([
    {
      id: 'stand-here',
      title: 'Stand here: replay to this step and look into the program',
      group: 'Change',
      keys: [],
      disabled: cannot ?? (step === undefined ? 'select a step first' : undefined),
      run: stand,
    },
    moving('next', 'Step forward with the program', ['F10'], { to: 'next' }),
    moving('back', 'Step back with the program', ['Shift+F10'], { to: 'back' }),
    moving('next-lane', 'Step forward in this lane', ['F11'], { to: 'next in lane' }),
    moving('back-lane', 'Step back in this lane', ['Shift+F11'], { to: 'back in lane' }),
    {
      id: 'stand-close',
      title: 'Let go of the program',
      group: 'Change',
      keys: [],
      disabled: isOpen ? undefined : 'no program is held',
      run: () => store.close(),
    },
  ])
  return standing
}

/** The step a program stands at. */
export const stepOf = ({ position }: Standing): string | undefined =>
  position === undefined || position.kind === 'start' ? undefined : position.step
