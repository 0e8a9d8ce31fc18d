import { useState } from 'react'
import type { StepRole } from '@retake/tape'
import { count, plural } from '@retake/tape/present'
import { Button } from '../design/button.js'
import type { Run } from '../run/use-run.js'
import type { BlameView } from './blame-view.js'
import { RateLine } from './rate-bar.js'
import { RoleName } from './role-mark.js'
import { StepName } from './step-name.js'

/** Steps that are listed at first, and more whenever more are wanted. A run may have many thousands. */
const FIRST = 20
const MORE = 200

const CELL = 'py-px pr-3 text-left align-middle font-normal'

/** Every step that was searched, what came closest to a cause first. */
export function RankedSteps({ run, view }: { readonly run: Run; readonly view: BlameView }) {
  const [most, setMost] = useState(FIRST)
  const { ranked, findings } = view
  const left = ranked.length - most
  return (
    <>
      <p className="mb-1 text-muted">{countsText(view)}</p>
      <table className="w-full table-fixed border-collapse">
        <thead>
          <tr className="text-sm text-muted">
            <th scope="col" className={`${CELL} w-24`}>
              role
            </th>
            <th scope="col" className={CELL}>
              step
            </th>
            <th scope="col" className={`${CELL} w-76 @max-[560px]:w-28`}>
              kept alone
            </th>
            <th
              scope="col"
              className={`${CELL} w-16 @max-[720px]:hidden`}
              title="1 / (1 + other causes that would have to be repaired as well)"
            >
              resp.
            </th>
          </tr>
        </thead>
        <tbody>
          {ranked.slice(0, most).map((place) => {
            const step = findings.steps[place]
            if (step === undefined) return null
            const alone = view.aloneOf(step.label)
            return (
              <tr key={place} className="border-t border-line">
                <td className={CELL}>
                  <RoleName role={step.role} />
                </td>
                <th scope="row" className={CELL}>
                  <StepName run={run} label={step.label} />
                </th>
                <td className={`${CELL} overflow-hidden @max-[560px]:[&_[data-interval]]:hidden`}>
                  {alone === undefined ? (
                    <span className="text-sm text-muted">not tried</span>
                  ) : (
                    <RateLine rate={alone} />
                  )}
                </td>
                <td className={`${CELL} font-mono text-sm @max-[720px]:hidden`}>
                  {step.responsibility === 0 ? '' : Math.round(step.responsibility * 100) / 100}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {left > 0 && (
        <Button className="mt-1.5" onClick={() => setMost(most + MORE)}>
          Show {count(Math.min(MORE, left))} more of {plural(left, 'step')}
        </Button>
      )}
    </>
  )
}

const COUNTED: readonly (readonly [role: StepRole, one: string, many: string])[] = [
  ['echo', 'echo', 'echoes'],
  ['affected', 'affected', 'affected'],
  ['clear', 'clear', 'clear'],
  ['unknown', 'not reached', 'not reached'],
]

/** How many of each: nothing is left out silently. */
function countsText(view: BlameView): string {
  const causes = view.causeLabels.length
  return [
    `${plural(view.findings.steps.length, 'step')} searched`,
    plural(causes, 'in a cause', 'in causes'),
    ...COUNTED.flatMap(([role, one, many]) => {
      const number = view.countOf(role)
      return number === 0 ? [] : [plural(number, one, many)]
    }),
  ].join(', ')
}
