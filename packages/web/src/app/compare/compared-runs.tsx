import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { RunComparison } from '../../api/run-comparison.js'
import { Button } from '../design/button.js'
import { ErrorNote } from '../design/error-note.js'
import { Spinner } from '../design/spinner.js'
import { PageFrame } from '../shell/page-frame.js'
import type { LiveActions } from '../sources/live-actions.js'
import { ChooseRun } from './choose-run.js'
import { CompareSummary } from './compare-summary.js'
import { ComparedRows } from './compared-rows.js'
import { useDifferences } from './use-differences.js'

export interface ComparedRunsProps {
  readonly a: string
  readonly b: string
  readonly live: LiveActions
}

/** What is the same and what differs between two runs, step by step. */
export function ComparedRuns({ a, b, live }: ComparedRunsProps) {
  const navigate = useNavigate()
  const [choosing, setChoosing] = useState<'a' | 'b'>()
  const { data, error, isPending } = useQuery({
    queryKey: ['compare', a, b],
    queryFn: () => live.compare(a, b),
    // A run that is being recorded is another one a moment later.
    staleTime: 0,
  })
  const show = (nextA: string, nextB: string): void =>
    void navigate({ to: '/compare/$a/$b', params: { a: nextA, b: nextB } })
  const differences = useDifferences({
    swap: () => show(b, a),
    chooseA: () => setChoosing('a'),
    chooseB: () => setChoosing('b'),
  })
  return (
    <PageFrame
      title={<Title a={a} b={b} comparison={data} />}
      documentTitle={`Compare ${data?.a.name ?? a} with ${data?.b.name ?? b}`}
      actions={
        <>
          <Button onClick={() => show(b, a)} title="Swap a and b (x)">
            Swap
          </Button>
          <Button onClick={() => setChoosing('a')}>Other a</Button>
          <Button onClick={() => setChoosing('b')} title="Choose another run b (d)">
            Other b
          </Button>
        </>
      }
      status={data && statusOf(data)}
    >
      <div ref={differences} className="relative h-full overflow-auto">
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
          title={choosing === 'a' ? 'Another run a' : 'Another run b'}
          not={[a, b]}
          onChoose={(run) => (choosing === 'a' ? show(run, b) : show(a, run))}
          onClose={() => setChoosing(undefined)}
        />
      )}
    </PageFrame>
  )
}

function Title({
  a,
  b,
  comparison,
}: {
  a: string
  b: string
  comparison?: RunComparison | undefined
}) {
  return (
    <>
      Compare{' '}
      <Link to="/runs/$run" params={{ run: a }} search={{}} className="text-accent underline">
        {comparison?.a.name ?? a}
      </Link>{' '}
      with{' '}
      <Link to="/runs/$run" params={{ run: b }} search={{}} className="text-accent underline">
        {comparison?.b.name ?? b}
      </Link>
    </>
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
