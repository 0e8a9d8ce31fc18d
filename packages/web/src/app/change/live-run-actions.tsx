import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ChooseRun } from '../compare/choose-run.js'
import type { Command } from '../commands/command.js'
import { useCommands } from '../commands/use-commands.js'
import { Button } from '../design/button.js'
import type { Run } from '../run/use-run.js'
import type { LiveActions } from '../sources/live-actions.js'
import { copyAndSay } from '../step/copy/copy-and-say.js'
import { JobNote } from './job-note.js'
import { RerunDialog } from './rerun-dialog.js'
import { StandingNote } from './standing-note.js'
import { reasonOf, useAbilities } from './use-abilities.js'
import { useStandingMoves } from './use-standing-moves.js'

export interface LiveRunActionsProps {
  readonly run: Run
  readonly live: LiveActions
}

/** The actions of a run, and how it stands with what was started from here. */
export function LiveRunActions({ run, live }: LiveRunActionsProps) {
  const navigate = useNavigate()
  const [open, setOpen] = useState<'rerun' | 'compare'>()
  const { rerun } = useAbilities(run.id, run.head.status)
  const standing = useStandingMoves(run, live)
  const { parent } = run.head
  const compareWith = (other: string): void =>
    void navigate({ to: '/compare/$a/$b', params: { a: other, b: run.id } })
  const commands: readonly (Command & { readonly short: string })[] = [
    {
      id: 'rerun',
      short: 'Run again',
      title: 'Run again: serve what still matches, go live where the code changed',
      group: 'Change',
      keys: [],
      disabled: reasonOf(rerun),
      run: () => setOpen('rerun'),
    },
    {
      id: 'branches',
      short: 'Branches',
      title: 'Branches: what was tried from this run, and what it came to',
      group: 'Look',
      keys: ['b'],
      run: () => void navigate({ to: '/runs/$run/branches', params: { run: run.id } }),
    },
    {
      id: 'compare',
      short: 'Compare',
      title: parent ? 'Compare with the parent' : 'Compare with another run',
      group: 'Look',
      keys: ['d'],
      run: () => (parent ? compareWith(parent.run) : setOpen('compare')),
    },
    ...(parent
      ? [
          {
            id: 'compare-other',
            short: 'Compare with another run',
            title: 'Compare with another run',
            group: 'Look' as const,
            keys: [],
            run: () => setOpen('compare'),
          },
        ]
      : []),
    {
      id: 'copy-report',
      short: 'Copy the command for a report',
      title: 'Copy the command that writes this run as a report file',
      group: 'Share',
      keys: [],
      words: 'html export send keep',
      run: () => void copyAndSay('the command', `npx retake report ${run.id}`),
    },
  ]
  useCommands(commands.map(({ short: _short, ...command }) => command))
  return (
    <div className="flex min-w-0 items-center gap-1.5">
      <StandingNote run={run} live={live} standing={standing} />
      <JobNote run={run} live={live} />
      {commands.slice(0, 3).map(({ id, short, title, disabled, keys, run: act }) => (
        <Button
          key={id}
          disabled={disabled !== undefined}
          title={disabled ?? (keys[0] === undefined ? title : `${title} (${keys[0]})`)}
          onClick={act}
        >
          {short}
        </Button>
      ))}
      {open === 'rerun' && <RerunDialog run={run} live={live} onClose={() => setOpen(undefined)} />}
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
