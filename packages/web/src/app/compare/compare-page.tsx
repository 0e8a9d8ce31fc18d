import { type DiffLine, diffWords, KINDS, unmarked } from '@retake/tape/present'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { type ReactNode, useRef, useState } from 'react'
import type { ComparedLine, ComparedStep, RunComparison, RunCard } from '@retake/tape'
import { useCommands } from '../commands/commands.js'
import { Badge, type BadgeProps, KindMark, RunStatusBadge } from '../design/badge.js'
import { Button, RunLink } from '../design/button.js'
import { EmptyNote, ErrorNote, Spinner } from '../design/notes.js'
import { PageFrame } from '../shell/page-frame.js'
import { type RelatedRuns, useBackend } from '../sources/backend.js'
import { ChooseRun } from './choose-run.js'
import { TextDiffView, TextDiff, useFolded } from './text-diff.js'

const VERDICTS: Readonly<
  Record<ComparedStep['verdict'], { readonly tone: BadgeProps['tone']; readonly text: string }>
> = {
  same: { tone: 'neutral', text: 'same' },
  changed: { tone: 'warning', text: 'changed' },
  'only a': { tone: 'danger', text: 'only in a' },
  'only b': { tone: 'good', text: 'only in b' },
}

function ComparedStepCard({ step, runs }: { step: ComparedStep; runs: readonly string[] }) {
  const { kind, verdict, moved = false, differences, carried = 0 } = step
  const differs = verdict !== 'same' || moved
  const { tone, text } = VERDICTS[verdict]
  const rowKind = KINDS.find((each) => each === kind)
  const titles = { a: step.title, b: step.titleB ?? step.title }
  return (
    <article
      {...(differs && { 'data-difference': true, tabIndex: -1 })}
      aria-label={`${step.title}: ${text}`}
      className="scroll-mt-2 rounded border border-line focus:border-accent focus:ring-1 focus:ring-accent"
    >
      <header className="relative grid bg-raised py-1 max-md:pr-24 md:grid-cols-2">
        {NAMES.map((name, side) => {
          const label = step[name]
          return label === undefined ? (
            <span key={name} className="hidden px-2 text-sm text-muted md:block">
              not in {name}
            </span>
          ) : (
            <span key={name} className="flex min-w-0 items-center gap-2 px-2 md:even:pr-24">
              <span className="shrink-0 font-mono text-sm text-muted">{name}</span>
              {rowKind && <KindMark kind={rowKind} />}
              <RunLink
                run={runs[side] ?? ''}
                step={label}
                className="inline-flex min-h-6 min-w-6 shrink-0 items-center justify-center text-accent tabular-nums hover:underline"
                aria-label={`step ${label} of run ${name}`}
              >
                {label}
              </RunLink>
              <span className="min-w-0 truncate font-mono text-sm" title={titles[name]}>
                {titles[name]}
              </span>
            </span>
          )
        })}
        <span className="absolute top-1 right-2 flex gap-1">
          {moved && <Badge tone="warning">moved</Badge>}
          {!(moved && verdict === 'same') && <Badge tone={tone}>{text}</Badge>}
        </span>
      </header>
      {(differences.length > 0 || carried > 0) && (
        <div className="flex flex-col gap-2 border-t border-line p-2">
          {differences.map((difference) => (
            <div key={difference.what}>
              <TextDiff {...difference} names={NAMES} />
              {difference.cut === true && (
                <p className="text-sm text-muted">
                  The texts are longer; open the step to see all of them.
                </p>
              )}
            </div>
          ))}
          {carried > 0 && (
            <p className="text-sm text-muted">
              {carried === 1 ? '1 message differs' : `${carried} messages differ`} only because of
              an earlier step.
            </p>
          )}
        </div>
      )}
    </article>
  )
}

const NAMES = ['a', 'b'] as const

function ComparedRows({ comparison }: { comparison: RunComparison }) {
  const { a, b, rows, console: printed, outcome } = comparison
  const isEqual = ({ verdict, moved }: ComparedStep) => verdict === 'same' && moved !== true
  const parts = useFolded(rows, isEqual, { margin: 0, least: 1 })
  return (
    <>
      <section aria-label="Steps">
        <h2 className="mb-1 text-lg">Steps</h2>
        <ol className="flex flex-col gap-2">
          {parts.map((part) =>
            part.type === 'item' ? (
              <li key={`${part.item.a} ${part.item.b}`}>
                <ComparedStepCard step={part.item} runs={[a.id, b.id]} />
              </li>
            ) : (
              <li key={`fold ${part.key}`}>
                <button
                  type="button"
                  className="w-full rounded bg-sunken px-2 py-1 text-left text-muted hover:text-text"
                  onClick={part.unfold}
                >
                  {part.items.length === 1 ? '1 equal step' : `${part.items.length} equal steps`}
                </button>
              </li>
            ),
          )}
        </ol>
      </section>
      {printed.length > 0 && (
        <DifferentPart title="Console">
          {(['stdout', 'stderr'] as const).map((stream) => {
            const lines = printed.filter((line) => line.stream === stream).map(lineOf)
            return (
              lines.length > 0 && (
                <TextDiffView
                  key={stream}
                  what={stream}
                  note="only lines that differ"
                  lines={lines}
                  names={NAMES}
                />
              )
            )
          })}
        </DifferentPart>
      )}
      {outcome.length > 0 && (
        <DifferentPart title="Outcome">
          {outcome.map((text) => (
            <TextDiff key={text.what} {...text} names={NAMES} />
          ))}
        </DifferentPart>
      )}
    </>
  )
}

const DifferentPart = ({ title, children }: { title: string; children: ReactNode }) => (
  <section
    aria-label={title}
    data-difference
    tabIndex={-1}
    className="scroll-mt-2 rounded focus:ring-1 focus:ring-accent"
  >
    <h2 className="mb-1 text-lg">{title}</h2>
    <div className="flex flex-col gap-2">{children}</div>
  </section>
)

function lineOf({ a, b }: ComparedLine): DiffLine {
  if (a !== undefined && b !== undefined) {
    const parts = diffWords(a.text, b.text)
    return {
      kind: 'changed',
      a: { number: a.line, parts: parts.a },
      b: { number: b.line, parts: parts.b },
    }
  }
  return {
    kind: a === undefined ? 'added' : 'removed',
    ...(a && { a: { number: a.line, parts: [unmarked(a.text)] } }),
    ...(b && { b: { number: b.line, parts: [unmarked(b.text)] } }),
  }
}

function ComparedRuns({ a, b, related }: { a: string; b: string; related: RelatedRuns }) {
  const navigate = useNavigate()
  const [choosing, setChoosing] = useState<'a' | 'b'>()
  const { data, error, isPending } = useQuery({
    queryKey: ['compare', a, b],
    queryFn: () => related.compare(a, b),
    // A run in progress changes.
    staleTime: 0,
  })
  const show = (nextA: string, nextB: string): void =>
    void navigate({ to: '/compare/$a/$b', params: { a: nextA, b: nextB } })
  const content = useRef<HTMLDivElement>(null)
  const go = (by: 1 | -1): void => {
    const all = [...(content.current?.querySelectorAll<HTMLElement>('[data-difference]') ?? [])]
    if (all.length === 0) return
    const current = all.findIndex((element) => element.contains(document.activeElement))
    const next = current === -1 ? (by === 1 ? 0 : all.length - 1) : current + by
    const target = all[Math.max(0, Math.min(all.length - 1, next))]
    target?.focus({ preventScroll: true })
    target?.scrollIntoView({ block: 'start' })
  }
  useCommands((add) => {
    add('Move', 'next-difference', 'Next difference', ['n', ']', 'j'], () => go(1))
    add('Move', 'previous-difference', 'Previous difference', ['N', '[', 'k'], () => go(-1))
    add('Look', 'swap-runs', 'Swap the runs a and b', ['x'], () => show(b, a))
    add('Look', 'choose-first', 'Change the left run', [], () => setChoosing('a'))
    add('Look', 'choose-second', 'Change the right run', ['d'], () => setChoosing('b'))
  })
  const title = (id: string, run: RunCard | undefined) => (
    <RunLink run={id} className="text-accent underline">
      {run?.name ?? id}
    </RunLink>
  )
  return (
    <PageFrame
      title={
        <>
          Compare {title(a, data?.a)} with {title(b, data?.b)}
        </>
      }
      documentTitle={`Compare ${data?.a.name ?? a} with ${data?.b.name ?? b}`}
      actions={
        <>
          <Button onClick={() => show(b, a)} title="Swap a and b (x)">
            Swap
          </Button>
          <Button onClick={() => setChoosing('a')}>Change left</Button>
          <Button onClick={() => setChoosing('b')} title="Change the right run (d)">
            Change right
          </Button>
        </>
      }
      status={data && statusOf(data)}
    >
      <div ref={content} className="relative h-full overflow-auto">
        <div className="mx-auto flex max-w-400 flex-col gap-4 p-4">
          {isPending && <Spinner label="Comparing…" />}
          {error !== null && <ErrorNote error={error} />}
          {data !== undefined && (
            <>
              <CompareSummary comparison={data} />
              <ComparedRows comparison={data} />
            </>
          )}
        </div>
      </div>
      {choosing !== undefined && (
        <ChooseRun
          title={choosing === 'a' ? 'Change the left run' : 'Change the right run'}
          not={[a, b]}
          onChoose={(run) => (choosing === 'a' ? show(run, b) : show(a, run))}
          onClose={() => setChoosing(undefined)}
        />
      )}
    </PageFrame>
  )
}

function statusOf({ equal, counts }: RunComparison): string {
  if (equal) return 'No difference'
  const parts = [
    [counts.same, 'same'],
    [counts.changed, 'changed'],
    [counts.moved, 'moved'],
    [counts.onlyA, 'only in a'],
    [counts.onlyB, 'only in b'],
  ] as const
  return parts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(' · ')
}

function CompareSummary({ comparison }: { comparison: RunComparison }) {
  const { a, b, totals, equal, first, descent, sameUntil } = comparison
  return (
    <section aria-label="The two runs" className="flex flex-col gap-1">
      {equal ? (
        <p className="font-medium">The two runs are equal: steps, output and outcome.</p>
      ) : (
        <p>
          <span className="font-medium">First difference: </span>
          {first ?? 'in their output or result.'}
          {sameUntil !== undefined && (
            <span className="text-muted"> The same until step {sameUntil}.</span>
          )}
        </p>
      )}
      {descent !== undefined && <p className="text-muted">{descent}</p>}
      <div className="mt-1 overflow-x-auto">
        <table className="w-full max-w-200 border-collapse text-left">
          <thead>
            <tr className="border-b border-line align-bottom">
              <th scope="col" className="py-1 pr-4 font-normal text-muted">
                Facts
              </th>
              <RunHeading run={a} which="a" />
              <RunHeading run={b} which="b" />
              <th scope="col" className="py-1 font-normal text-muted">
                Change
              </th>
            </tr>
          </thead>
          <tbody>
            {totals.map((total) => (
              <tr key={total.name} className="border-b border-line">
                <th scope="row" className="py-0.5 pr-4 font-normal text-muted">
                  {total.name}
                </th>
                <td className="py-0.5 pr-4 font-mono text-sm">{total.a}</td>
                <td className="py-0.5 pr-4 font-mono text-sm">{total.b}</td>
                <td className="py-0.5 font-mono text-sm">
                  {total.change === undefined ? '' : <Badge tone="accent">{total.change}</Badge>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

const RunHeading = ({ run, which }: { run: RunCard; which: string }) => (
  <th scope="col" className="py-1 pr-4 font-normal">
    <span className="block text-sm text-muted">
      Run {which}
      {run.branch && ` · ${run.branch.kind}`}
    </span>
    <span className="flex flex-wrap items-center gap-2">
      <span className="font-medium">{run.name}</span>
      <RunStatusBadge status={run.status} />
    </span>
    <span className="hidden font-mono text-sm text-muted sm:block">{run.id}</span>
  </th>
)

export function ComparePage() {
  const { related } = useBackend()
  const { a = '', b = '' } = useParams({ strict: false })
  if (related === undefined)
    return <EmptyNote title="A report contains one run; there is no other." />
  return <ComparedRuns key={`${a} ${b}`} a={a} b={b} related={related} />
}
