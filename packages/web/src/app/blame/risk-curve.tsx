import type { RiskPoint } from '@retake/tape'
import { failuresText, intervalText, plural } from '@retake/tape/present'
import { useRef } from 'react'
import { useSize } from '../run/timeline/use-canvas.js'
import type { Run } from '../run/use-run.js'
import { useSelection } from '../run/use-selection.js'
import { type BlameView, riskPath, riskPoints, riskScale, type RiskScale } from './blame-view.js'
import { RateLine, StepName } from './role-mark.js'

/** With more points only the line is drawn. */
const DOTS_MOST = 200

interface RiskDrawingProps {
  readonly view: BlameView
  readonly points: readonly RiskPoint[]
  readonly scale: RiskScale
}

/** Dots with whiskers, and the moments that matter. A click on a dot opens its step. */
function RiskDrawing({ view, points, scale }: RiskDrawingProps) {
  const { select } = useSelection()
  const { width, height, left, right, x, y } = scale
  const go = (upTo: number): void => {
    if (upTo >= 0) select(view.labelOf(upTo))
  }
  return (
    <svg
      // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- drawn here, not loaded
      role="img"
      aria-label={summary(view, points)}
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      className="block text-sm"
    >
      {[0, 0.5, 1].map((rate) => (
        <g key={rate}>
          <path d={`M${left} ${y(rate)}H${width - right}`} stroke="var(--line)" />
          <text x={left - 6} y={y(rate) + 4} textAnchor="end" fill="var(--muted)">
            {rate * 100} %
          </text>
        </g>
      ))}
      <Moments view={view} scale={scale} />
      <path d={riskPath(points, scale)} fill="none" stroke="var(--accent)" strokeWidth="1.5" />
      {points.length <= DOTS_MOST &&
        points.map(({ upTo, rate }) => (
          <g
            key={upTo}
            className={upTo < 0 ? undefined : 'cursor-pointer'}
            onClick={() => go(upTo)}
          >
            <title>
              {`${upTo < 0 ? 'all steps re-run' : `pinned up to step ${view.labelOf(upTo)}`}: ${failuresText(rate)}, ${intervalText(rate)}`}
            </title>
            <path
              d={`M${x(upTo)} ${y(rate.low)}V${y(rate.high)}M${x(upTo) - 3} ${y(rate.low)}h6M${x(upTo) - 3} ${y(rate.high)}h6`}
              stroke="var(--muted)"
            />
            <circle cx={x(upTo)} cy={y(rate.fails / rate.forks)} r="3.5" fill="var(--accent)" />
            <circle cx={x(upTo)} cy={y(rate.fails / rate.forks)} r="9" fill="transparent" />
          </g>
        ))}
      <text x={x(-1)} y={height - 5} textAnchor="middle" fill="var(--muted)">
        none
      </text>
      <text x={width - right} y={height - 5} textAnchor="end" fill="var(--muted)">
        step {view.labelOf(view.findings.steps.length - 1)}
      </text>
    </svg>
  )
}

function Moments({ view, scale }: { view: BlameView; scale: RiskScale }) {
  const { decisionStep, commitStep } = view.findings
  const { width, height, bottom, right, x } = scale
  const isOne = decisionStep === commitStep
  const moments = [
    ...(decisionStep === undefined || isOne
      ? []
      : [{ name: 'decided', index: decisionStep, dash: '2 3' }]),
    ...(commitStep === undefined
      ? []
      : [
          {
            name: isOne ? 'decided here, no way back' : 'no way back',
            index: commitStep,
            dash: '',
          },
        ]),
  ]
  return moments.map(({ name, index, dash }, row) => {
    const at = x(index)
    const isLate = at > width / 2
    return (
      <g key={name}>
        <path
          d={`M${at} ${14 + row * 13}V${height - bottom}`}
          stroke="var(--role-cause)"
          strokeDasharray={dash}
        />
        <text
          x={isLate ? Math.min(at + 4, width - right) : at - 4}
          y={11 + row * 13}
          textAnchor={isLate ? 'end' : 'start'}
          fill="var(--role-cause)"
        >
          {name} {view.labelOf(index)}
        </text>
      </g>
    )
  })
}

function summary(view: BlameView, points: readonly RiskPoint[]): string {
  const [first, last] = [points[0], points.at(-1)]
  const { commitStep } = view.findings
  const words = (point: RiskPoint): string =>
    `${Math.round((100 * point.rate.fails) / point.rate.forks)} %`
  return [
    `Risk of failing by pinned steps: ${first ? words(first) : ''} to ${last ? words(last) : ''}`,
    ...(commitStep === undefined ? [] : [`no way back from step ${view.labelOf(commitStep)}`]),
  ].join('; ')
}

const ROWS_MOST = 300

/** Failure rate with the steps up to one pinned, as a curve and as a table. */
export function RiskCurve({ run, view }: { run: Run; view: BlameView }) {
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
                pinned up to
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
