import type { Run } from '../run/use-run.js'
import { placed } from '../step/placed.js'
import type { BlameView } from './blame-view.js'
import { RateLine } from './rate-bar.js'
import { RoleName } from './role-mark.js'
import { StepName } from './step-name.js'

/** Members that are named of one cause: a search finds a few. */
const MOST = 20

/** Each set of steps that makes the run fail; the first is the one that did. */
export function CauseSets({ run, view }: { readonly run: Run; readonly view: BlameView }) {
  return (
    <ol aria-label="Causes" className="flex flex-col gap-2.5">
      {placed(view.findings.causes).map(({ place, it: { role, steps, sufficiency, shares } }) => (
        <li key={place} className="flex flex-col gap-1">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-0.5">
            <RoleName role={role} />
            <RateLine rate={sufficiency} />
            <span className="text-sm text-muted">
              when only {steps.length === 1 ? 'this is' : 'these are'} kept
            </span>
          </div>
          <ul className="flex flex-col pl-4">
            {placed(steps.slice(0, MOST)).map(({ place: index, it: step }) => (
              <li key={step} className="flex min-w-0 items-center gap-2">
                <StepName run={run} label={view.labelOf(step)} />
                {steps.length > 1 && shares[index] !== undefined && (
                  <span
                    className="ml-auto shrink-0 text-sm text-muted"
                    title="its exact Shapley share of this cause"
                  >
                    share {Math.round(shares[index] * 100) / 100}
                  </span>
                )}
              </li>
            ))}
            {steps.length > MOST && <li className="text-muted">and {steps.length - MOST} more</li>}
          </ul>
        </li>
      ))}
    </ol>
  )
}
