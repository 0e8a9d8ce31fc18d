import { fixWords, localDateTime, plural, type UnifiedLine } from '@retake/tape/present'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { FixView, RunFix } from '@retake/tape'
import type { RunHead } from '../../model/run-source.js'
import { StepName } from '../blame/role-mark.js'
import { useCommands } from '../commands/commands.js'
import { Badge, type BadgeProps } from '../design/badge.js'
import { Button } from '../design/button.js'
import { CheckIcon } from '../design/icons.js'
import { ErrorNote, SearchPanel, Terms } from '../design/notes.js'
import { copyWithToast, CopyCommand } from '../design/toast.js'
import type { Run } from '../run/data/use-run.js'
import { useList } from '../run/data/use-selection.js'
import { type LiveActions, useBackend, useRefresh } from '../sources/backend.js'
import { FieldSection } from '../values/field.js'
import { indexed } from '../values/text-parts.js'
import { Remarks, VisibleText } from '../values/text.js'
import { searchCommand, useSearchResult } from '../blame/use-blame.js'

const useFix = (run: Run) => useSearchResult<RunFix>(run, 'fix')

const fixCommand = (head: RunHead): string =>
  searchCommand(head, 'fix', "--oracle 'stdout:/what it should say/'")

export function useFixCommands(run: Run): void {
  useRefresh('fix')
  const { list, show } = useList()
  useCommands((add) => {
    const isOn = list === 'fix'
    const title = isOn ? 'List steps' : 'Fix: changes to the source that were tried'
    add('Look', 'fix.show', title, { keys: ['i'], words: 'repair patch diff apply undo' }, () =>
      show(isOn ? 'steps' : 'fix'),
    )
    const copy = 'Copy the command that searches for a fix'
    const disabled = run.head.recorded === 'import' ? 'the run was imported' : undefined
    add('Share', 'fix.copy-command', copy, { disabled }, () => {
      void copyWithToast('the command', fixCommand(run.head))
    })
  })
}

export function FixSign({ run }: { run: Run }) {
  const { data } = useFix(run)
  if (data?.status !== 'repaired') return null
  return (
    <span className="text-good" title={data.headline}>
      <CheckIcon />
    </span>
  )
}

export function FixPanel({ run }: { run: Run }) {
  const { data, error } = useFix(run)
  return (
    <SearchPanel
      label="Fix"
      head={run.head}
      result={data}
      error={error}
      render={(fix) => <Result run={run} fix={fix} />}
      search="search for a fix"
      purpose="searches for a change that repairs it"
      command={fixCommand(run.head)}
      hint="It tries changes in a copy of the project. No file is changed."
    />
  )
}

function Result({ run, fix }: { run: Run; fix: RunFix }) {
  const { headline, status, reason, oracle, fixes, symptoms, notes, at } = fix
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-col gap-2">
        <p data-testid="fix-verdict" className="text-lg font-medium wrap-anywhere">
          <VisibleText text={headline} />
        </p>
        <p className="wrap-anywhere">
          <span className="text-muted">check</span>{' '}
          <code className="font-mono text-sm">
            <VisibleText text={oracle} />
          </code>
          <span className="text-muted">{status === 'passing' ? ' passed: ' : ' failed: '}</span>
          <VisibleText text={reason} />
        </p>
        <Remarks notes={notes} />
      </div>
      {fixes.map((each) => (
        <Candidate key={each.id} run={run} fix={each} />
      ))}
      {symptoms.length > 0 && (
        <FieldSection title="Symptoms">
          <ul aria-label="Symptoms" className="flex flex-col gap-1.5">
            {indexed(symptoms).map(({ index, item: { kind, step, evidence, confidence } }) => (
              <li key={index} className="min-w-0">
                <p className="wrap-anywhere">
                  <span className="font-mono text-sm">{kind}</span>{' '}
                  <span className="text-muted">({confidence})</span> <VisibleText text={evidence} />
                </p>
                {step !== undefined && <StepName run={run} label={step} />}
              </li>
            ))}
          </ul>
        </FieldSection>
      )}
      <p className="text-sm text-muted">{localDateTime(at)}</p>
    </div>
  )
}

const TONES = {
  repairs: 'good',
  workaround: 'warning',
  rejected: 'danger',
  undecided: 'warning',
  untried: 'warning',
} as const satisfies Record<FixView['verdict'], BadgeProps['tone']>

/** A change with its evidence. Changes that do not repair the run are folded. */
function Candidate({ run, fix }: { run: Run; fix: FixView }) {
  const { live } = useBackend()
  const { title, verdict, claim, reason, author, why, facts, printed, files, isApplied } = fix
  const isWorking = claim !== undefined
  return (
    <details open={isWorking} className="rounded border border-line" data-fix={fix.id}>
      <summary className="flex cursor-pointer flex-wrap items-center gap-x-2 gap-y-1 bg-raised px-2 py-1">
        <Badge tone={TONES[verdict]}>{fixWords(fix)}</Badge>
        <span className="min-w-0 font-medium wrap-anywhere">
          <VisibleText text={title} />
        </span>
        {author === 'model' && <Badge title="A model wrote this change.">model</Badge>}
        {isApplied && <Badge tone="accent">applied</Badge>}
      </summary>
      <div className="flex flex-col gap-3 border-t border-line p-2">
        {!isWorking && (
          <p className="wrap-anywhere">
            <VisibleText text={reason} />
          </p>
        )}
        <p className="wrap-anywhere">
          <VisibleText text={why} />
        </p>
        <Terms
          rows={Object.fromEntries(
            facts.map(({ label, text }) => [label, <VisibleText key={label} text={text} />]),
          )}
        />
        {files.map(({ path, lines }) => (
          <FileDiff key={path} path={path} lines={lines} />
        ))}
        {printed.length > 0 && (
          <FieldSection title="Printed before and now">
            <pre className="overflow-x-auto font-mono text-sm whitespace-pre-wrap">
              {indexed(printed).map(({ index, item }) => (
                <span
                  key={index}
                  className={
                    item.startsWith('+')
                      ? 'text-good'
                      : item.startsWith('-')
                        ? 'text-danger'
                        : undefined
                  }
                >
                  <VisibleText text={`${item}\n`} />
                </span>
              ))}
            </pre>
          </FieldSection>
        )}
        {live !== undefined && (isWorking || isApplied) && (
          <ApplyFix run={run} fix={fix} live={live} />
        )}
      </div>
    </details>
  )
}

const LINES: Readonly<Record<UnifiedLine['sign'], string>> = {
  '+': 'bg-good-soft',
  '-': 'bg-danger-soft',
  ' ': '',
  '@': 'bg-sunken text-muted',
}

const SIGN_NAMES: Partial<Record<UnifiedLine['sign'], string>> = { '+': 'added', '-': 'removed' }

const FileDiff = ({ path, lines }: FixView['files'][number]) => (
  <figure className="min-w-0 overflow-hidden rounded border border-line">
    <figcaption className="truncate border-b border-line bg-raised px-2 py-0.5 font-mono text-sm">
      {path}
    </figcaption>
    <div className="font-mono text-sm">
      {indexed(lines).map(({ index, item: { sign, text } }) => (
        <div key={index} className={`flex min-h-lh px-2 ${LINES[sign]}`}>
          <span aria-hidden="true" className="w-4 shrink-0 select-none">
            {sign === '@' ? '' : sign}
          </span>
          {SIGN_NAMES[sign] !== undefined && (
            <span className="sr-only">{`${SIGN_NAMES[sign]}: `}</span>
          )}
          <span className="min-w-0 whitespace-pre-wrap [overflow-wrap:anywhere]">
            <VisibleText text={sign === '@' ? text.replace(/^@ (line \d+).*/, '$1') : text} />
          </span>
        </div>
      ))}
    </div>
  </figure>
)

interface ApplyFixProps {
  readonly run: Run
  readonly fix: FixView
  readonly live: LiveActions
}

function ApplyFix({ run, fix: { id, isApplied, files }, live }: ApplyFixProps) {
  const client = useQueryClient()
  const change = useMutation({
    mutationFn: async () => {
      if (!isApplied) return live.applyFix(run.id, id)
      await live.undoFix(run.id, id)
      return undefined
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['fix', run.id] }),
  })
  const { data: applied, error, isPending } = change
  const verb = isApplied ? 'Undo' : `Apply to ${plural(files.length, 'file')}`
  return (
    <div className="flex flex-col items-start gap-2">
      <Button
        look={isApplied ? 'plain' : 'primary'}
        disabled={isPending}
        onClick={() => change.mutate()}
      >
        {isPending ? 'Working…' : verb}
      </Button>
      <output className="flex max-w-full flex-col items-start gap-1">
        {applied && isApplied && (
          <>
            <span className="wrap-anywhere">Changed {applied.files.join(', ')}.</span>
            {applied.test !== undefined && (
              <span className="wrap-anywhere">Wrote the test {applied.test}. Run it with:</span>
            )}
            {applied.command !== undefined && <CopyCommand command={applied.command} />}
            {applied.noTest !== undefined && (
              <span className="text-muted wrap-anywhere">No test: {applied.noTest}</span>
            )}
          </>
        )}
      </output>
      {error !== null && <ErrorNote error={error} />}
    </div>
  )
}
