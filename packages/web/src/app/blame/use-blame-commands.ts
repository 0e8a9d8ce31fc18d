import { useCommands } from '../commands/use-commands.js'
import { useList } from '../run/use-list.js'
import type { Run } from '../run/use-run.js'
import { useSelection } from '../run/use-selection.js'
import { copyAndSay } from '../step/copy/copy-and-say.js'
import { blameCommand } from './blame-command.js'
import { useBlame, useBlameNews } from './use-blame.js'

/** The keys that lead to what made the run fail. */
export function useBlameCommands(run: Run): void {
  useBlameNews(run.id)
  const { view, error } = useBlame(run)
  const { step, select } = useSelection()
  const { list, show } = useList()
  const disabled =
    view === undefined
      ? error === null
        ? 'The causes of this run were not searched for: see Blame.'
        : 'What was found cannot be read: see Blame.'
      : view.causeLabels.length === 0
        ? 'No step was found to be a cause.'
        : undefined
  const go = (direction: 1 | -1): void => {
    const to = view?.nextCause(step, direction)
    if (to !== undefined && to !== step) select(to)
  }
  useCommands([
    {
      id: 'blame.show',
      title: list === 'blame' ? 'List steps' : 'Blame: which steps caused the failure',
      group: 'Look',
      keys: ['w'],
      words: 'why cause root risk evidence',
      run: () => show(list === 'blame' ? 'steps' : 'blame'),
    },
    {
      id: 'blame.cause',
      title: 'Go to the cause; again: to the next one',
      group: 'Move',
      keys: ['r'],
      words: 'blame root next cause',
      disabled,
      run: () => go(1),
    },
    {
      id: 'blame.previous-cause',
      title: 'Previous cause',
      group: 'Move',
      keys: ['R'],
      words: 'blame previous',
      disabled,
      run: () => go(-1),
    },
    {
      id: 'blame.copy-command',
      title: 'Copy the command that searches for the cause',
      group: 'Share',
      keys: [],
      words: 'blame',
      run: () => void copyAndSay('the command', blameCommand(run.head)),
    },
  ])
}
