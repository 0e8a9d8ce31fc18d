import type { ComponentType } from 'react'
import { BlameSign } from '../blame/role-mark.js'
import { useBlameCommands } from '../blame/use-blame.js'
import type { Run } from '../run/data/use-run.js'
import { useBackend } from '../sources/backend.js'
import { BlamePanel } from './blame-panel.js'
import { FixPanel, FixSign, useFixCommands } from './fix-panel.js'

interface CapabilityTab {
  /** As the capability registers it, and in the address. */
  readonly value: 'blame' | 'fix'
  readonly name: string
  readonly title: string
  readonly Panel: ComponentType<{ readonly run: Run }>
  /** Beside the name: something was found. */
  readonly Sign: ComponentType<{ readonly run: Run }>
  readonly useCommands: (run: Run) => void
}

/** The lists that capabilities add to the page of a run, in their order. */
const CAPABILITY_TABS: readonly CapabilityTab[] = [
  {
    value: 'blame',
    name: 'Blame',
    title: 'Which steps caused the failure (w)',
    Panel: BlamePanel,
    Sign: BlameSign,
    useCommands: useBlameCommands,
  },
  {
    value: 'fix',
    name: 'Fix',
    title: 'Changes to the source that were tried (i)',
    Panel: FixPanel,
    Sign: FixSign,
    useCommands: useFixCommands,
  },
]

/** Those of installed capabilities. */
export function useCapabilityTabs(): readonly CapabilityTab[] {
  const { tabs } = useBackend()
  return CAPABILITY_TABS.filter(({ value }) => tabs.includes(value))
}

/** Renders nothing. A component, because the number of tabs is not the same for every backend. */
export function CapabilityCommands({ tab, run }: { tab: CapabilityTab; run: Run }) {
  tab.useCommands(run)
  return null
}
