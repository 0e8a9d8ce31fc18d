import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useId, useRef, useState } from 'react'
import type { DivergenceView, Job, Move } from '../../api/run-repository.js'
import { CRASH_LABEL } from '../../model/run-source.js'
import { useCommands } from '../commands/commands.js'
import { ChooseRun } from '../compare/choose-run.js'
import { TextDiff } from '../compare/text-diff.js'
import { TrialTableDialog } from '../findings/trial-table.js'
import { Badge } from '../design/badge.js'
import { Button, IconButton } from '../design/button.js'
import { Dialog } from '../design/dialog.js'
import { TextField } from '../design/fields.js'
import { ChevronDownIcon, ChevronUpIcon, CloseIcon } from '../design/icons.js'
import { ErrorNote } from '../design/notes.js'
import { CopyCommand, copyWithToast, showError } from '../design/toast.js'
import type { Run } from '../run/data/use-run.js'
import { useSelection } from '../run/data/use-selection.js'
import { type LiveActions, useBackend } from '../sources/backend.js'
import { debugSessionOf, type DebugState, debugText } from './debug-session.js'
import { branchOf, isOver, useJobs } from './jobs.js'
import { useStore } from '../design/store.js'
import { reasonOf, useAbilities } from './use-abilities.js'

/**
 * Synchronizes the debug session and the selected step, and registers its moves as commands. Leaving
 * the run closes the session.
 */
function useDebugMoves(run: Run, live: LiveActions): DebugState {
  const store = debugSessionOf(run.id, live)
  const debug = useStore(store)
  const { step, select, show } = useSelection()
  const { step: ability } = useAbilities(run.id, run.head.status)
  const { position } = debug
  const at = position === undefined || position.kind === 'start' ? undefined : position.step
  const followed = useRef<string>(undefined)

  useEffect(() => {
    if (at === undefined || at === followed.current) return
    followed.current = at
    select(at, { replace: true })
  }, [at, select])
  useEffect(() => {
    if (step === undefined || step === CRASH_LABEL) return
    if (step === followed.current || !store.isOpen) return
    followed.current = step
    void store.move({ to: 'step', step })
  }, [step, store])
  useEffect(() => {
    const close = (): void => store.close()
    addEventListener('pagehide', close)
    return () => {
      removeEventListener('pagehide', close)
      close()
    }
  }, [store])

  const cannot = reasonOf(ability)
  const pauseHere = (): void => {
    if (step === undefined) return
    followed.current = step
    show('state')
    void store.move({ to: 'step', step })
  }
  const isOpen = debug.phase !== 'closed'
  const unselected = step === undefined ? 'Select a step first' : undefined
  useCommands((add) => {
    const moving = (id: string, title: string, key: string, to: Move): void => {
      const disabled = cannot ?? (isOpen ? undefined : unselected)
      add('Move', `stand-${id}`, title, { keys: [key], disabled }, () =>
        isOpen ? void store.move(to) : pauseHere(),
      )
    }
    const here = 'Pause the program here: replay to this step and inspect it'
    add('Change', 'stand-here', here, { disabled: cannot ?? unselected }, pauseHere)
    moving('next', 'Step forward with the program', 'F10', { to: 'next' })
    moving('back', 'Step back with the program', 'Shift+F10', { to: 'back' })
    moving('next-lane', 'Step forward in this lane', 'F11', { to: 'next in lane' })
    moving('back-lane', 'Step back in this lane', 'Shift+F11', { to: 'back in lane' })
    const closed = isOpen ? undefined : 'No program is paused'
    add('Change', 'stand-close', 'Stop debugging', { disabled: closed }, () => store.close())
  })
  return debug
}

function JobNote({ run, live }: LiveProps) {
  const job = useJobs().findLast((each) => each.run === run.id)
  const [isOpen, setIsOpen] = useState(false)
  if (job === undefined) return null
  const stop = (): void => void live.stop(job.id).catch(showError)
  if (!isOver(job))
    return (
      <span className="flex items-center gap-1.5">
        <output>
          <Badge tone="accent">{job.state === 'waiting' ? 'waiting' : 'running'}</Badge>
        </output>
        <Button look="danger" onClick={stop} title="Stop the program; its recording stays">
          Stop
        </Button>
      </span>
    )
  return (
    <>
      <output className="hidden sm:block">
        <Badge tone={TONES[outcomeOf(job)]} title={job.summary}>
          {job.kind} {outcomeOf(job)}
        </Badge>
      </output>
      {(job.error !== undefined || job.divergence !== undefined) && (
        <Button onClick={() => setIsOpen(true)}>
          {job.error === undefined ? 'Where it went live' : 'Why'}
        </Button>
      )}
      <Dialog
        title={job.error === undefined ? 'Where it left the tape' : `The ${job.kind} failed`}
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
        size="large"
      >
        <div className="flex flex-col gap-3">
          {job.error !== undefined && <ErrorNote error={job.error} />}
          {job.divergence !== undefined && <DivergenceNote divergence={job.divergence} />}
        </div>
      </Dialog>
    </>
  )
}

/** A job is failed if its program failed. */
const outcomeOf = ({ state, exit }: Job): Job['state'] =>
  state === 'done' && exit !== undefined && (exit.code !== 0 || exit.signal !== undefined)
    ? 'failed'
    : state

const TONES: Readonly<Record<Job['state'], 'accent' | 'good' | 'danger' | 'warning'>> = {
  waiting: 'accent',
  running: 'accent',
  done: 'good',
  failed: 'danger',
  stopped: 'warning',
}

interface LiveProps {
  readonly run: Run
  readonly live: LiveActions
}

const BUTTONS: Readonly<Record<string, string>> = {
  rerun: 'Run again',
  branches: 'Branches',
  compare: 'Compare',
  trials: 'Models',
  'write-test': 'Write test',
}

/** Without `live`, offers only actions that execute nothing. */
export function RunToolbar({ run }: { run: Run }) {
  const { live, tabs } = useBackend()
  const navigate = useNavigate()
  const [open, setOpen] = useState<'rerun' | 'compare' | 'test' | 'trials'>()
  const { rerun } = useAbilities(run.id, run.head.status)
  const { data: trials } = useQuery({
    queryKey: ['trials', run.id],
    queryFn: async () => (await live?.trialTable(run.id)) ?? null,
    enabled: live !== undefined && tabs.includes('trials'),
  })
  const { parent } = run.head
  const compareWith = (other: string): void =>
    void navigate({ to: '/compare/$a/$b', params: { a: other, b: run.id } })
  const commands = useCommands((add) => {
    const again = 'Run again: serve what still matches, go live where the code changed'
    if (live) add('Change', 'rerun', again, { disabled: reasonOf(rerun) }, () => setOpen('rerun'))
    add('Look', 'branches', 'Branches of this run and their results', ['b'], () => {
      void navigate({ to: '/runs/$run/branches', params: { run: run.id } })
    })
    const compare = parent ? 'Compare with the parent' : 'Compare with another run'
    add('Look', 'compare', compare, ['d'], () =>
      parent ? compareWith(parent.run) : setOpen('compare'),
    )
    if (parent)
      add('Look', 'compare-other', 'Compare with another run', [], () => setOpen('compare'))
    if (trials)
      add('Look', 'trials', 'Models and prompts that were compared for this run', [], () =>
        setOpen('trials'),
      )
    const test = 'Write a test that replays this run offline and fails when the agent changes'
    const canTest = { disabled: reasonOf(rerun), words: 'vitest jest keep' }
    if (live) add('Share', 'write-test', test, canTest, () => setOpen('test'))
    const report = 'Copy the command that writes this run as a report file'
    add('Share', 'copy-report', report, { words: 'html export send keep' }, () => {
      void copyWithToast('the command', `npx retake report ${run.id}`)
    })
  })
  return (
    <div className="flex shrink-0 items-center gap-1.5">
      {live && <DebugNote run={run} live={live} />}
      {live && <JobNote run={run} live={live} />}
      {commands
        .filter(({ id }) => id in BUTTONS)
        .map(({ id, title, disabled, keys, run: act }) => (
          <Button
            key={id}
            look={id === 'compare' && parent !== undefined ? 'primary' : 'plain'}
            disabled={disabled !== undefined}
            title={disabled ?? (keys[0] === undefined ? title : `${title} (${keys[0]})`)}
            onClick={act}
          >
            {id === 'compare' && parent !== undefined ? 'Compare with parent' : BUTTONS[id]}
          </Button>
        ))}
      {open === 'rerun' && live && (
        <RerunDialog run={run} live={live} onClose={() => setOpen(undefined)} />
      )}
      {open === 'trials' && trials && (
        <TrialTableDialog table={trials} onClose={() => setOpen(undefined)} />
      )}
      {open === 'test' && live && (
        <WriteTestDialog run={run} live={live} onClose={() => setOpen(undefined)} />
      )}
      {open === 'compare' && (
        <ChooseRun
          title={`Compare ${run.head.name} with`}
          not={[run.id]}
          onChoose={compareWith}
          onClose={() => setOpen(undefined)}
        />
      )}
    </div>
  )
}

function RerunDialog({ run, live, onClose }: LiveProps & { readonly onClose: () => void }) {
  const backend = useBackend()
  const navigate = useNavigate()
  const formId = useId()
  const [name, setName] = useState('')
  const {
    mutate,
    data: job,
    ...rerun
  } = useMutation({
    mutationFn: async () =>
      branchOf(backend, await live.rerun(run.id, name === '' ? {} : { name })),
    onSuccess: ({ written, run: branch, divergence }) => {
      if (!written) return
      onClose()
      const search = { step: divergence?.step }
      void navigate({ to: '/runs/$run', params: { run: branch }, search })
    },
  })
  const error = rerun.error ?? job?.error
  return (
    <Dialog
      title="Run again"
      isOpen
      onClose={onClose}
      footer={
        job?.identical ? (
          <Button look="primary" onClick={onClose}>
            Close
          </Button>
        ) : (
          <Button type="submit" form={formId} look="primary" disabled={rerun.isPending}>
            {rerun.isPending ? 'Running…' : 'Run again'}
          </Button>
        )
      }
    >
      <form
        id={formId}
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          mutate()
        }}
      >
        <p>
          Runs the current code. Requests that are on the tape get their recorded answer, at no
          cost. Other requests are sent live, with your real keys. The result is recorded as a
          branch; the recorded run does not change.
        </p>
        {job === undefined && (
          <TextField
            label="Name of the branch"
            value={name}
            placeholder="same as the parent"
            onChange={setName}
          />
        )}
        <output>
          {rerun.isPending && 'Serving from the tape until something differs…'}
          {job?.identical &&
            `Identical from beginning to end: everything was served at no cost, and no branch was created.`}
          {job !== undefined && !job.identical && error === undefined && !job.written
            ? (job.summary ?? `It ended: ${job.state}.`)
            : ''}
        </output>
        {error !== undefined && <ErrorNote error={error} />}
      </form>
    </Dialog>
  )
}

function WriteTestDialog({ run, live, onClose }: LiveProps & { readonly onClose: () => void }) {
  const {
    mutate,
    isPending,
    data: written,
    error,
  } = useMutation({ mutationFn: () => live.writeTest(run.id) })
  return (
    <Dialog
      title="Write a test"
      isOpen
      onClose={onClose}
      footer={
        <Button
          look="primary"
          disabled={isPending}
          onClick={written === undefined ? () => mutate() : onClose}
        >
          {written === undefined ? (isPending ? 'Replaying…' : 'Write test') : 'Close'}
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <p>
          Copies the tape into the project and writes a test that replays it: offline, without keys.
          It fails when the agent sends another request or ends differently.
        </p>
        <output className="flex flex-col gap-2">
          {written !== undefined && (
            <>
              <span>
                Wrote <code className="font-mono">{written.file}</code>. Run it with:
              </span>
              <CopyCommand command={written.command} />
            </>
          )}
        </output>
        {error !== null && <ErrorNote error={error} />}
      </div>
    </Dialog>
  )
}

function DebugNote({ run, live }: LiveProps) {
  const debug = useDebugMoves(run, live)
  if (debug.phase === 'closed') return null
  const store = debugSessionOf(run.id, live)
  const isBusy = debug.phase !== 'paused'
  return (
    <span className="flex items-center">
      <output className="mr-1">
        <Badge tone="accent">{debugText(debug)}</Badge>
      </output>
      <IconButton
        label="Step back with the program"
        keys="Shift+F10"
        icon={<ChevronUpIcon />}
        disabled={isBusy}
        onClick={() => void store.move({ to: 'back' })}
      />
      <IconButton
        label="Step forward with the program"
        keys="F10"
        icon={<ChevronDownIcon />}
        disabled={isBusy}
        onClick={() => void store.move({ to: 'next' })}
      />
      <IconButton label="Stop debugging" icon={<CloseIcon />} onClick={() => store.close()} />
    </span>
  )
}

function DivergenceNote({ divergence }: { divergence: DivergenceView }) {
  const { step, seq, summary, explanation, site, mismatches } = divergence
  return (
    <section aria-label="Divergence" className="flex flex-col gap-2">
      <p className="font-medium">
        {step === undefined ? `Event ${seq}` : `Step ${step}`}: {summary}
      </p>
      <p className="whitespace-pre-wrap">{explanation}</p>
      {site !== undefined && <p className="font-mono text-sm text-muted">{site}</p>}
      {mismatches.map(({ field, recorded, current }) => (
        <TextDiff key={field} what={field} a={recorded} b={current} names={['recorded', 'now']} />
      ))}
    </section>
  )
}
