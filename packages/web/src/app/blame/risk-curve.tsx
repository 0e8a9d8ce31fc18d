import { useRef } from 'react'
import { plural } from '@retake/tape/present'
import { useSize } from '../run/timeline/use-canvas.js'
import type { Run } from '../run/use-run.js'
import type { BlameView } from './blame-view.js'
import { RateLine } from './rate-bar.js'
import { RiskDrawing } from './risk-drawing.js'
import { riskPoints, riskScale } from './risk-scale.js'
import { StepName } from './step-name.js'

/** Rows of the table; a curve is looked at in some tens of places. */
const ROWS_MOST = 300

interface RiskCurveProps {
  readonly run: Run
  readonly view: BlameView
}

/** How often it fails when the steps up to one are kept, as a curve and as a table. */
export function RiskCurve({ run, view }: RiskCurveProps) {
  const box = useRef<HTMLDivElement>(null)
  const { width } = useSize(box)
  const points = riskPoints(view.findings.riskCurve)
  return (
    <div>
      <div ref={box}>
        {width > 0 && points.length > 0 && (
          <RiskDrawing
            view={view}
            points={points}
            scale={riskScale(width, view.findings.steps.length)}
          />
        )}
      </div>
      <details>
        <summary className="text-sm">{plural(points.length, 'point')} as a table</summary>
        <table className="mt-1 border-collapse">
          <thead>
            <tr className="text-left text-sm text-muted">
              <th scope="col" className="pr-4 font-normal">
                kept up to
              </th>
              <th scope="col" className="font-normal">
                how often it fails
              </th>
            </tr>
          </thead>
          <tbody>
            {points.slice(0, ROWS_MOST).map(({ upTo, rate }) => (
              <tr key={upTo} className="border-t border-line">
                <th scope="row" className="max-w-80 py-0.5 pr-4 text-left font-normal">
                  {upTo < 0 ? 'no step' : <StepName run={run} label={view.labelOf(upTo)} />}
                </th>
                <td>
                  <RateLine rate={rate} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </div>
  )
}
