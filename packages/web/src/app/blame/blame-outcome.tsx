import { namesCauses, verdictSentence } from '@retake/tape/present'
import { TextButton } from '../design/button.js'
import { openFork } from '../change/fork-draft.js'
import type { Run } from '../run/use-run.js'
import { useList, useSelection } from '../run/use-selection.js'
import { useBackend } from '../sources/backend.js'
import { VisibleText } from '../step/text.js'
import type { BlameView } from './blame-view.js'

export function BlameOutcome({ run, view }: { run: Run; view: BlameView }) {
  const { select } = useSelection()
  const { list, show } = useList()
  const { live } = useBackend()
  const { findings, blame } = view
  const [label] = namesCauses(findings) ? view.causeLabels : []
  return (
    <p className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5">
      {label === undefined ? (
        <TextButton className="text-lg font-medium" onClick={() => show('blame')}>
          {verdictSentence(view)}
        </TextButton>
      ) : (
        <button
          type="button"
          className="text-left text-lg font-medium text-danger hover:underline"
          onClick={() => select(label)}
        >
          {verdictSentence(view)}
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
