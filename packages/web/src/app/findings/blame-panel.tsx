import type { BlameFindings, BlameProbe, StepRole } from '@retake/tape'
import {
  ambientText,
  confidenceText,
  cost,
  count,
  duration,
  failuresText,
  intervalText,
  localDateTime,
  plural,
  PURPOSE_WORDS,
  repairSentence,
  stepCountsText,
} from '@retake/tape/present'
import { useRef, useState } from 'react'
import { Badge } from '../design/badge.js'
import { Button } from '../design/button.js'
import { SearchPanel, Terms } from '../design/notes.js'
import type { Run } from '../run/data/use-run.js'
import { FieldSection } from '../values/field.js'
import { indexed } from '../values/text-parts.js'
import { Remarks, VisibleText } from '../values/text.js'
import {
  type BlameView,
  type EvidenceGroup,
  evidenceGroups,
  type IndexedRisk,
  riskPath,
  riskPoints,
  riskScale,
  type RiskScale,
} from '../blame/blame-view.js'
import { RateLine, RoleName, StepName } from '../blame/role-mark.js'
import { blameCommand, useBlame } from '../blame/use-blame.js'
import { useSize } from '../run/timeline/timeline-canvas.js'
import { useSelection } from '../run/data/use-selection.js'

/** Above this number of points, only the line is drawn. */
const DOTS_MAX = 200

interface RiskDrawingProps {
  readonly view: BlameView
  readonly points: readonly IndexedRisk[]
  readonly scale: RiskScale
}

/** Dots with whiskers, and the decisive steps. A click on a dot opens its step. */
function RiskDrawing({ view, points, scale }: RiskDrawingProps) {
  const { select } = useSelection()
  const { width, height, left, right, x, y } = scale
  const go = (upTo: string | undefined): void => {
    if (upTo !== undefined) select(upTo)
  }
  return (
    <svg
      // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- an inline drawing
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
      {points.length <= DOTS_MAX &&
        points.map(({ upTo, index, rate }) => (
          <g
            key={index}
            className={upTo === undefined ? undefined : 'cursor-pointer'}
            onClick={() => go(upTo)}
          >
            <title>
              {`${upTo === undefined ? 'all steps re-run' : `pinned up to step ${upTo}`}: ${failuresText(rate)}, ${intervalText(rate)}`}
            </title>
            <path
              d={`M${x(index)} ${y(rate.low)}V${y(rate.high)}M${x(index) - 3} ${y(rate.low)}h6M${x(index) - 3} ${y(rate.high)}h6`}
              stroke="var(--muted)"
            />
            <circle cx={x(index)} cy={y(rate.fails / rate.forks)} r="3.5" fill="var(--accent)" />
            <circle cx={x(index)} cy={y(rate.fails / rate.forks)} r="9" fill="transparent" />
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
  const last = isOne ? 'decided here, unavoidable from here' : 'unavoidable from here'
  const moments = [
    { name: 'decided', label: isOne ? undefined : decisionStep, dash: '2 3' },
    { name: last, label: commitStep, dash: '' },
  ].flatMap(({ label, ...moment }) => (label === undefined ? [] : [{ label, ...moment }]))
  return moments.map(({ name, label, dash }, row) => {
    const at = x(view.indexOf(label))
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
          {name} {label}
        </text>
      </g>
    )
  })
}

function summary(view: BlameView, points: readonly IndexedRisk[]): string {
  const [first, last] = [points[0], points.at(-1)]
  const { commitStep } = view.findings
  const words = (point: IndexedRisk): string =>
    `${Math.round((100 * point.rate.fails) / point.rate.forks)} %`
  return [
    `Risk of failing by pinned steps: ${first ? words(first) : ''} to ${last ? words(last) : ''}`,
    ...(commitStep === undefined ? [] : [`unavoidable from step ${commitStep}`]),
  ].join('; ')
}

const ROWS_MOST = 300

/** Failure rate by number of pinned steps, as a curve and as a table. */
function RiskCurve({ run, view }: { run: Run; view: BlameView }) {
  const box = useRef<HTMLDivElement>(null)
  const { width } = useSize(box)
  const points = riskPoints(view.findings.riskCurve, (label) => view.indexOf(label))
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
              <tr key={upTo ?? ''} className="border-t border-line">
                <th scope="row" className="max-w-80 py-0.5 pr-4 text-left font-normal">
                  {upTo === undefined ? 'no step' : <StepName run={run} label={upTo} />}
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

/** Steps shown at first, and added on demand. A run may have many thousands. */
const STEPS_SHOWN = 20
const MORE_STEPS = 200

const CELL = 'py-px pr-3 text-left align-middle font-normal'

const RANKED_COLUMNS = [
  { heading: 'role', className: 'w-24' },
  { heading: 'step', className: '' },
  { heading: 'only this one pinned', className: 'w-76 @max-[560px]:w-28' },
] as const

function RankedSteps({ run, view }: { run: Run; view: BlameView }) {
  const [most, setMost] = useState(STEPS_SHOWN)
  const { ranked, findings } = view
  const left = ranked.length - most
  return (
    <>
      <p className="mb-1 text-muted">{countsText(view)}</p>
      <table className="w-full table-fixed border-collapse">
        <thead>
          <tr className="text-sm text-muted">
            {RANKED_COLUMNS.map(({ heading, className }) => (
              <th key={heading} scope="col" className={`${CELL} ${className}`}>
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ranked.slice(0, most).map((index) => {
            const step = findings.steps[index]
            if (step === undefined) return null
            const alone = view.aloneOf(step.label)
            return (
              <tr key={index} className="border-t border-line">
                <td className={CELL}>
                  <RoleName role={step.role} intervention={step.intervention} />
                </td>
                <th scope="row" className={CELL}>
                  <StepName run={run} label={step.label} />
                </th>
                <td className={`${CELL} overflow-hidden @max-[560px]:[&_[data-interval]]:hidden`}>
                  {alone === undefined ? (
                    <span className="text-sm text-muted">
                      {step.role === 'clear' ? 'passed, pinned with others' : 'not tried'}
                    </span>
                  ) : (
                    <RateLine rate={alone} />
                  )}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {left > 0 && (
        <Button className="mt-1.5" onClick={() => setMost(most + MORE_STEPS)}>
          Show {count(Math.min(MORE_STEPS, left))} more of {plural(left, 'step')}
        </Button>
      )}
    </>
  )
}

const COUNTED: readonly (readonly [role: StepRole, one: string, many: string])[] = [
  ['echo', 'echo', 'echoes'],
  ['affected', 'affected', 'affected'],
  ['clear', 'clear', 'clear'],
  ['unknown', 'cannot tell', 'cannot tell'],
]

function countsText(view: BlameView): string {
  const causes = view.causeLabels.length
  return [
    `${stepCountsText(view.counts)} searched`,
    ...(causes === 0 ? [] : [plural(causes, 'in a cause', 'in causes')]),
    ...COUNTED.flatMap(([role, one, many]) => {
      const number = view.countOf(role)
      return number === 0 ? [] : [plural(number, one, many)]
    }),
  ].join(', ')
}

const CAUSE_STEPS_MAX = 20

function CauseSets({ run, view }: { run: Run; view: BlameView }) {
  return (
    <ol aria-label="Causes" className="flex flex-col gap-2.5">
      {indexed(view.findings.causes).map(
        ({ index, item: { role, steps, ambient = [], sufficiency, shares } }) => (
          <li key={index} className="flex flex-col gap-1">
            <div className="flex flex-wrap items-center gap-x-3 gap-y-0.5">
              <RoleName role={role} intervention={view.step(steps[0] ?? '')?.intervention} />
              <RateLine rate={sufficiency} />
              <span className="text-sm text-muted">
                with only {pinnedWords(steps.length, ambient.length)} pinned
              </span>
            </div>
            <ul className="flex flex-col pl-4">
              {ambient.flatMap((at) => {
                const input = view.findings.ambient[at]
                if (input === undefined) return []
                return (
                  <li key={`ambient ${at}`} data-ambient={input.kind} className="leading-6">
                    <VisibleText text={ambientText(input)} />
                    {input.step !== undefined && (
                      <span className="text-muted"> after step {input.step}</span>
                    )}
                  </li>
                )
              })}
              {indexed(steps.slice(0, CAUSE_STEPS_MAX)).map(({ index, item: step }) => (
                <li key={step} className="flex min-w-0 items-center gap-2">
                  <StepName run={run} label={step} />
                  {shares.some((share) => Math.abs(share - (shares[0] ?? share)) > 0.01) &&
                    shares[index] !== undefined && (
                      <span
                        className="ml-auto shrink-0 text-sm text-muted"
                        title="its exact Shapley share of this cause"
                      >
                        share {Math.round(shares[index] * 100) / 100}
                      </span>
                    )}
                </li>
              ))}
              {steps.length > CAUSE_STEPS_MAX && (
                <li className="text-muted">and {steps.length - CAUSE_STEPS_MAX} more</li>
              )}
            </ul>
          </li>
        ),
      )}
    </ol>
  )
}

const pinnedWords = (steps: number, inputs: number): string => {
  if (inputs > 0) return steps + inputs === 1 ? 'this' : 'these'
  return steps === 1 ? 'this step' : 'these steps'
}

/** Up to this number, all probes are shown. */
const OPEN_MAX = 12
/** Probes of one kind shown at first, and added on demand. */
const PROBES_SHOWN = 30
const MORE = 200

function EvidenceTree({ view }: { view: BlameView }) {
  const { evidence } = view.findings
  const isOpen = evidence.length <= OPEN_MAX
  return (
    <ul aria-label="Evidence" className="flex flex-col gap-1">
      {evidenceGroups(evidence).map((group) => (
        <li key={group.purpose}>
          <details open={isOpen}>
            <summary>
              {PURPOSE_WORDS[group.purpose]}{' '}
              <span className="text-sm text-muted">
                {plural(group.probes.length, 'probe')}, {plural(group.forks, 'fork')}
              </span>
            </summary>
            <Probes view={view} group={group} />
          </details>
        </li>
      ))}
    </ul>
  )
}

function Probes({ view, group }: { view: BlameView; group: EvidenceGroup }) {
  const [most, setMost] = useState(PROBES_SHOWN)
  const left = group.probes.length - most
  return (
    <>
      <ul className="ml-1.5 border-l border-line pl-3">
        {indexed(group.probes.slice(0, most)).map(({ index, item }) => (
          <li
            key={index}
            className="grid grid-cols-[minmax(0,1fr)_auto_6.5rem] items-center gap-x-3 py-0.5 @max-[560px]:grid-cols-1"
          >
            <span className="min-w-0 wrap-anywhere">
              <span className="text-muted">pinned</span>{' '}
              {/* A long list of steps is recognizable by its beginning. */}
              {view.pinnedText(item.pinned).replace(/^(.{240}).+$/s, '$1…')}
              {item.ambient !== undefined && (
                <span className="text-muted">, with recorded clock and files</span>
              )}
              {item.given?.map(({ step, from }) => (
                <span key={step} className="text-muted">
                  , step {step} as with {view.pinnedText(from)} pinned
                </span>
              ))}
            </span>
            <RateLine rate={item.rate} />
            <span className="flex flex-wrap gap-1">
              <Conclusion probe={item} />
            </span>
          </li>
        ))}
      </ul>
      {left > 0 && (
        <Button className="mt-1 ml-5" onClick={() => setMost(most + MORE)}>
          Show {count(Math.min(MORE, left))} more
        </Button>
      )}
    </>
  )
}

const Conclusion = ({ probe: { fails, undefinedForks, mode } }: { probe: BlameProbe }) => (
  <>
    {fails === undefined ? (
      <Badge title="Not decided when the search ended.">open</Badge>
    ) : fails ? (
      <Badge tone="danger">fails</Badge>
    ) : (
      <Badge tone="good">passes</Badge>
    )}
    {mode === 'frozen' && <Badge title="Everything else was pinned as recorded.">frozen</Badge>}
    {undefinedForks > 0 && (
      <Badge tone="warning" title="Forks without a verdict count as neither pass nor fail.">
        {undefinedForks} undefined
      </Badge>
    )}
  </>
)

const REASONS_MAX = 10

function SearchFacts({ view }: { view: BlameView }) {
  const { at, oracle, facts, findings } = view.blame
  const { newForks, forcedAnswers, wallMs, undefinedBy, free } = facts
  const ended = [
    newForks !== undefined && `${plural(newForks, 'fork')} run for this search`,
    wallMs !== undefined && `in ${duration(wallMs)}`,
    `ended ${localDateTime(at)}`,
  ]
  const lines = [spentFacts(findings).join(', '), ended.filter(Boolean).join(', ')]
  if (forcedAnswers)
    lines.push(
      `${plural(forcedAnswers, 'time')} a pinned step got its recorded answer to a changed request.`,
    )
  return (
    <div className="flex flex-col gap-1">
      <p>
        <span className="text-muted">oracle</span>{' '}
        <code className="font-mono text-sm wrap-anywhere">
          <VisibleText text={oracle.slice(0, 2000)} />
        </code>
      </p>
      {free.length > 0 && (
        <p>
          <span className="text-muted">free steps</span>{' '}
          <code className="font-mono text-sm wrap-anywhere">
            <VisibleText text={free.join(', ').slice(0, 2000)} />
          </code>
        </p>
      )}
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {undefinedBy.length > 0 && (
        <ul aria-label="Forks without a verdict" className="text-muted">
          {undefinedBy.slice(0, REASONS_MAX).map(({ reason, count }) => (
            <li key={reason}>
              {plural(count, 'fork')} without a verdict: <VisibleText text={reason.slice(0, 500)} />
            </li>
          ))}
          {undefinedBy.length > REASONS_MAX && (
            <li>and {undefinedBy.length - REASONS_MAX} other reasons</li>
          )}
        </ul>
      )}
    </div>
  )
}

/** An unknown figure is shown as unknown, not as 0. */
const spentFacts = ({ forks }: BlameFindings): string[] => [
  plural(forks.asked, 'fork'),
  ...(forks.served > 0 ? [`${count(forks.served)} from an earlier search`] : []),
  ...(forks.undefined > 0 ? [`${count(forks.undefined)} without a verdict`] : []),
  `${plural(forks.liveSteps, 'step')} re-run`,
  forks.tokens === undefined ? 'tokens unknown' : plural(forks.tokens, 'token'),
  forks.costUsd === undefined ? 'cost unknown' : cost(forks.costUsd),
]

export function BlamePanel({ run }: { run: Run }) {
  const { view, isRead, error } = useBlame(run)
  return (
    <SearchPanel
      label="Blame"
      head={run.head}
      result={view ?? (isRead ? null : undefined)}
      error={error}
      render={(found) => <Findings run={run} view={found} />}
      search="search for causes"
      purpose="finds the steps that caused it"
      command={blameCommand(run.head)}
      hint={
        <>
          Define a pass with <code className="font-mono text-sm">--expect</code> or{' '}
          <code className="font-mono text-sm">--oracle</code>.
        </>
      }
    />
  )
}

function Findings({ run, view }: { run: Run; view: BlameView }) {
  const { causes, riskCurve, evidence } = view.findings
  return (
    <div className="flex flex-col gap-4">
      <BlameVerdict run={run} view={view} />
      {causes.length > 0 && (
        <FieldSection title="Causes">
          <CauseSets run={run} view={view} />
        </FieldSection>
      )}
      {view.countOf('unknown') < view.findings.steps.length && (
        <FieldSection title="Steps, ranked">
          <RankedSteps run={run} view={view} />
        </FieldSection>
      )}
      {/* One point is no curve, and the rates above already show it. */}
      {riskCurve.length > 1 && (
        <FieldSection title="Risk: how often it fails with the steps up to one pinned">
          <RiskCurve run={run} view={view} />
        </FieldSection>
      )}
      {evidence.length > 0 && (
        <FieldSection title="Evidence">
          <EvidenceTree view={view} />
        </FieldSection>
      )}
      <FieldSection title="The search">
        <SearchFacts view={view} />
      </FieldSection>
    </div>
  )
}

function BlameVerdict({ run, view }: { run: Run; view: BlameView }) {
  const { why, decisionStep, commitStep, repair, race, anchors, mode, notes } = view.findings
  const confidence = confidenceText(view.findings)
  const repaired = repairSentence(view.findings)
  const step = (label: string) => <StepName run={run} label={label} />
  const isOne = commitStep === decisionStep
  return (
    <div className="flex flex-col gap-2">
      <h2 data-testid="verdict" className="text-lg font-medium">
        {view.sentence}
      </h2>
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
              <Badge>frozen</Badge> Tested with everything else pinned: a repair does not help if
              the rest of the run is live.
            </>
          )}
        </p>
      )}
      <Remarks notes={notes} />
      <Terms
        rows={{
          'decided at': !isOne && decisionStep !== undefined && step(decisionStep),
          'unavoidable from': !isOne && commitStep !== undefined && step(commitStep),
          'in a race': race && <StepNames run={run} labels={race.steps} />,
          'tested repair': repair && repaired !== undefined && (
            <>
              <p data-testid="repair">{repaired}</p>
              <StepNames run={run} labels={repair.steps} name="Repair" />
            </>
          ),
          'replayed unchanged': <RateLine rate={anchors.pinned} />,
          'live clock and files': anchors.ambientFree && <RateLine rate={anchors.ambientFree} />,
          'all steps re-run': <RateLine rate={anchors.free} />,
        }}
      />
    </div>
  )
}

const StepNames = ({
  run,
  labels,
  name,
}: {
  run: Run
  labels: readonly string[]
  name?: string
}) => (
  <ul aria-label={name}>
    {labels.slice(0, CAUSE_STEPS_MAX).map((label) => (
      <li key={label} className="min-w-0">
        <StepName run={run} label={label} />
      </li>
    ))}
  </ul>
)
