import type { ReactNode } from 'react'
import { confidenceText, verdictSentence } from '@retake/tape/present'
import { Badge } from '../design/badge.js'
import type { Run } from '../run/use-run.js'
import { VisibleText } from '../step/text/visible-text.js'
import type { BlameView } from './blame-view.js'
import { RateLine } from './rate-bar.js'
import { StepName } from './step-name.js'

/** What the search came to: a sentence, how sure it is, and what a reader must know. */
export function BlameVerdict({ run, view }: { readonly run: Run; readonly view: BlameView }) {
  const { why, decisionStep, commitStep, minimalRepair, anchors, mode, notes } = view.findings
  const confidence = confidenceText(view.findings)
  const step = (place: number) => <StepName run={run} label={view.labelOf(place)} />
  return (
    <div className="flex flex-col gap-2">
      <p data-testid="verdict" className="text-lg font-medium">
        {verdictSentence(view)}
      </p>
      {why !== undefined && (
        <p>
          <VisibleText text={why} />
        </p>
      )}
      {(confidence !== undefined || mode === 'frozen') && (
        <p>
          {confidence}{' '}
          {mode === 'frozen' && (
            <>
              <Badge>frozen</Badge> Read with everything else held as recorded: a repair in a live
              tail does not help.
            </>
          )}
        </p>
      )}
      {notes.length > 0 && (
        <ul aria-label="Notes" className="flex flex-col gap-1">
          {notes.map((note) => (
            <li key={note} className="border-l-2 border-warning pl-2">
              <VisibleText text={note} />
            </li>
          ))}
        </ul>
      )}
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] items-center gap-x-3 gap-y-0.5">
        {decisionStep !== undefined && (
          <Row name={decisionStep === commitStep ? 'decided, unavoidable' : 'decided at'}>
            {step(decisionStep)}
          </Row>
        )}
        {commitStep !== undefined && commitStep !== decisionStep && (
          <Row name="unavoidable from">{step(commitStep)}</Row>
        )}
        {minimalRepair.length > 0 && (
          <Row name="fewest to repair">
            <ul aria-label="Minimal repair">
              {minimalRepair.slice(0, 20).map((place) => (
                <li key={place} className="min-w-0">
                  {step(place)}
                </li>
              ))}
            </ul>
          </Row>
        )}
        <Row name="all steps kept">
          <RateLine rate={anchors.kept} />
        </Row>
        <Row name="no step kept">
          <RateLine rate={anchors.free} />
        </Row>
      </dl>
    </div>
  )
}

function Row({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt className="self-start leading-6 text-muted">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  )
}
