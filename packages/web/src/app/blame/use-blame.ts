import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { RunBlame } from '@retake/tape'
import type { RunHead } from '../../model/run-source.js'
import { useCommands } from '../commands/commands.js'
import { copyWithToast } from '../design/toast.js'
import type { Run } from '../run/data/use-run.js'
import { useList, useSelection } from '../run/data/use-selection.js'
import { useRefresh } from '../sources/backend.js'
import { blameViewOf } from './blame-view.js'

/** The last result of a search; null if there is none, as for a run in progress. */
export const useSearchResult = <T>(run: Run, tab: string): UseQueryResult<T | null> =>
  useQuery({
    queryKey: [tab, run.id],
    queryFn: async () => ((await run.source.findings(tab)) as T | undefined) ?? null,
    enabled: run.head.status !== 'recording',
    // A hidden page misses changes.
    refetchOnWindowFocus: 'always',
  })

export function useBlame(run: Run) {
  const { data, error } = useSearchResult<RunBlame>(run, 'blame')
  return {
    view: data === null || data === undefined ? undefined : blameViewOf(data),
    isRead: data !== undefined,
    error,
  }
}

/**
 * The command that starts a search. A run that ended with an error probably failed; otherwise, the
 * user has to say what a pass is.
 */
export function searchCommand({ id, exit }: RunHead, verb: string, oracle: string): string {
  const isWrong = exit?.error !== undefined || (exit?.code ?? 0) !== 0
  return `npx retake ${verb} ${id}${isWrong ? '' : ` ${oracle}`}`
}

export const blameCommand = (head: RunHead): string =>
  searchCommand(head, 'blame', "--expect 'what it should say'")

export function useBlameCommands(run: Run): void {
  useRefresh('blame')
  const { view, error } = useBlame(run)
  const { step, select } = useSelection()
  const { list, show } = useList()
  const disabled =
    view === undefined
      ? error === null
        ? 'There is no search for causes yet: see Blame.'
        : 'The findings cannot be read: see Blame.'
      : view.causeLabels.length === 0
        ? 'No step was found to be a cause.'
        : undefined
  const go = (direction: 1 | -1): void => {
    const to = view?.nextCause(step, direction)
    if (to !== undefined && to !== step) select(to)
  }
  useCommands((add) => {
    const title = list === 'blame' ? 'List steps' : 'Blame: which steps caused the failure'
    const words = 'why cause root risk evidence'
    add('Look', 'blame.show', title, { keys: ['w'], words }, () =>
      show(list === 'blame' ? 'steps' : 'blame'),
    )
    const next = { keys: ['r'], words: 'blame root next cause', disabled }
    add('Move', 'blame.cause', 'Go to the next cause', next, () => go(1))
    const previous = { keys: ['R'], words: 'blame previous', disabled }
    add('Move', 'blame.previous-cause', 'Previous cause', previous, () => go(-1))
    const copy = 'Copy the command that searches for the cause'
    const imported = run.head.recorded === 'import' ? 'the run was imported' : undefined
    add('Share', 'blame.copy-command', copy, { words: 'blame', disabled: imported }, () => {
      void copyWithToast('the command', blameCommand(run.head))
    })
  })
}
