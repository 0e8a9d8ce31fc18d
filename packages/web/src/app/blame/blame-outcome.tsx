import { stepsText } from '@retake/tape/present'
import { TextButton } from '../design/button.js'
import { openFork } from '../change/fork-draft.js'
import { type Run, useRows } from '../run/use-run.js'
import { useList, useSelection } from '../run/use-selection.js'
import { useBackend } from '../sources/backend.js'
import { VisibleText } from '../step/text.js'
import type { BlameView } from './blame-view.js'

/** Which steps made the run fail, by which check, and what to do about it: one line. */
export function BlameOutcome({ run, view }: { run: Run; view: BlameView }) {
  useRows(run.rows)
  const { select } = useSelection()
  const { list, show } = useList()
  const { live } = useBackend()
  const { findings, blame } = view
  const [cause] = findings.verdict === 'attributed' ? findings.causes : []
  const [label] = view.causeLabels
  return (
    <p className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5">
      {cause === undefined || label === undefined ? (
        <TextButton className="text-lg font-medium" onClick={() => show('blame')}>
          No step is proven to have made this run fail
        </TextButton>
      ) : (
        <button
          type="button"
          className="text-left text-lg font-medium text-danger hover:underline"
          onClick={() => select(label)}
        >
          {causeText(run, view, cause.steps)}
        </button>
      )}
      <span className="min-w-0 text-muted wrap-anywhere">
        check <VisibleText text={blame.oracle} className="font-mono text-sm text-text" />
      </span>
      {label !== undefined && live !== undefined && (
        <TextButton
          onClick={() => {
            select(label)
            openFork(run.id, label)
          }}
        >
          Fork with a fix
        </TextButton>
      )}
      {list !== 'blame' && <TextButton onClick={() => show('blame')}>Evidence</TextButton>}
    </p>
  )
}

/** `Step 4 search_policy made this run fail`. */
function causeText({ rows }: Run, view: BlameView, steps: readonly number[]): string {
  const text = stepsText(steps, view.findings)
  const index = steps.length === 1 ? rows.indexOf(view.labelOf(steps[0] ?? -1)) : -1
  const row = index < 0 ? undefined : rows.at(index)
  const name = row?.tool ?? row?.model
  const subject = `S${text.slice(1)}${name === undefined ? '' : ` ${name}`}`
  return `${subject}${steps.length > 1 ? ' together' : ''} made this run fail`
}
