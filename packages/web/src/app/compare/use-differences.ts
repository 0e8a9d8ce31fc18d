import { useRef, type RefObject } from 'react'
import { useCommands } from '../commands/use-commands.js'

export interface DifferenceActions {
  readonly swap: () => void
  readonly chooseA: () => void
  readonly chooseB: () => void
}

/** Keys that go from one difference to the next, within the element the answer is put on. */
export function useDifferences(actions: DifferenceActions): RefObject<HTMLDivElement | null> {
  const place = useRef<HTMLDivElement>(null)
  const go = (by: 1 | -1): void => {
    const all = [...(place.current?.querySelectorAll<HTMLElement>('[data-difference]') ?? [])]
    if (all.length === 0) return
    const current = all.findIndex((element) => element.contains(document.activeElement))
    const next = current === -1 ? (by === 1 ? 0 : all.length - 1) : current + by
    const target = all[Math.max(0, Math.min(all.length - 1, next))]
    target?.focus({ preventScroll: true })
    target?.scrollIntoView({ block: 'start' })
  }
  useCommands([
    {
      id: 'next-difference',
      title: 'Next difference',
      group: 'Move',
      keys: ['n', ']', 'j'],
      run: () => go(1),
    },
    {
      id: 'previous-difference',
      title: 'Previous difference',
      group: 'Move',
      keys: ['N', '[', 'k'],
      run: () => go(-1),
    },
    {
      id: 'swap-runs',
      title: 'Swap the runs a and b',
      group: 'Look',
      keys: ['x'],
      run: actions.swap,
    },
    {
      id: 'choose-first',
      title: 'Choose another run a',
      group: 'Look',
      keys: [],
      run: actions.chooseA,
    },
    {
      id: 'choose-second',
      title: 'Choose another run b',
      group: 'Look',
      keys: ['d'],
      run: actions.chooseB,
    },
  ])
  return place
}
