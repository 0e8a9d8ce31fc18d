import { useMemo, type ReactNode } from 'react'
import { useCommands } from '../commands/use-commands.js'
import { EmptyNote } from '../design/empty-note.js'
import { Tabs } from '../design/tabs.js'
import type { StepDetail } from '../../model/step-detail.js'
import type { Run } from '../run/use-run.js'
import { useSelection } from '../run/use-selection.js'
import { copyAndSay } from './copy/copy-and-say.js'
import { FieldLinksProvider } from './field/field-links.js'
import { QueryNote } from './query-note.js'
import { StepHeader } from './step-header.js'
import { chooseTab, tabsOf } from './tabs/tabs-of.js'
import { useLinkTo } from './use-link-to.js'
import { useStep } from './use-step.js'

/** The step that is looked at: what it is, and each way to look at it. */
export function StepPanel({ run }: { readonly run: Run }) {
  const { step } = useSelection()
  const { detail, isOld, isGone, error } = useStep(run, step)
  return (
    <div
      data-panel="step"
      aria-busy={isOld}
      className="flex min-h-0 min-w-0 flex-1 flex-col bg-surface"
    >
      {step === undefined && <EmptyNote title="Choose a step to see what is in it." />}
      {step !== undefined && isGone && (
        <EmptyNote title={`There is no step ${step.slice(0, 40)} in this run.`} />
      )}
      {step !== undefined && detail === undefined && !isGone && (
        <QueryNote what={`step ${step.slice(0, 40)}`} error={error} />
      )}
      {step !== undefined && detail !== undefined && (
        <div className={`flex min-h-0 flex-1 flex-col ${isOld ? 'opacity-60' : ''}`}>
          <OneStep run={run} detail={detail} />
        </div>
      )}
    </div>
  )
}

function OneStep({ run, detail }: { readonly run: Run; readonly detail: StepDetail }) {
  const { tab, field, show } = useSelection()
  const tabs = tabsOf(detail)
  const shown = chooseTab(tabs, { tab, field })
  useCommands(
    tabs.map(({ value, title }, place) => ({
      id: `step.tab.${value}`,
      title: `Show ${title}`,
      group: 'Look' as const,
      keys: place < 9 ? [String(place + 1)] : [],
      run: () => show(value),
    })),
  )
  return (
    <LinkedFields label={detail.label} tab={shown?.value}>
      <StepHeader run={run} detail={detail} />
      <Tabs
        label={`Views of step ${detail.label}`}
        value={shown?.value ?? ''}
        onChange={(value) => show(value)}
        tabs={tabs.map(({ value, title, View }) => ({
          value,
          title,
          content:
            value === shown?.value ? (
              <div
                key={detail.label}
                ref={field === undefined ? showTop : undefined}
                className="contents"
              >
                <View run={run} detail={detail} />
              </div>
            ) : null,
        }))}
      />
    </LinkedFields>
  )
}

/** Another step begins at its top, whatever was scrolled before. */
const showTop = (element: HTMLElement | null): void =>
  element?.closest('[role=tabpanel]')?.scrollTo(0, 0)

/** Tells every field below whether the address points to it, and gives out addresses. */
function LinkedFields(props: {
  readonly label: string
  readonly tab: string | undefined
  readonly children: ReactNode
}) {
  const { label, tab, children } = props
  const { field } = useSelection()
  const linkTo = useLinkTo()
  const links = useMemo(() => {
    const copyLink = (path: string): void =>
      void copyAndSay(`the link to ${path}`, linkTo({ step: label, tab, field: path }))
    return { field, copyLink }
  }, [field, linkTo, label, tab])
  return <FieldLinksProvider value={links}>{children}</FieldLinksProvider>
}
