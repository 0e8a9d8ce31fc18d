import type { Command } from '../../commands/command.js'
import type { StepDetail } from '../../../model/step-detail.js'
import type { Run } from '../../run/use-run.js'
import { useSelection } from '../../run/use-selection.js'
import { useLinkTo } from '../use-link-to.js'
import { copyAndSay } from './copy-and-say.js'
import { saveBytes } from './save-bytes.js'

/** What can be copied and kept of a step, as commands. */
export function useCopies(run: Run, detail: StepDetail): readonly Command[] {
  const { tab, field } = useSelection()
  const linkTo = useLinkTo()
  const { label } = detail
  const json = (): string => JSON.stringify(detail, undefined, 2)
  return [
    {
      id: 'step.copy-link',
      title: 'Copy link',
      group: 'Share',
      keys: ['y'],
      run: () => void copyAndSay('the link', linkTo({ step: label, tab, field })),
    },
    {
      id: 'step.copy-json',
      title: 'Copy step as JSON',
      group: 'Share',
      keys: [],
      run: () => void copyAndSay('the step as JSON', json()),
    },
    {
      id: 'step.download-json',
      title: 'Download step as JSON',
      group: 'Share',
      keys: [],
      run: () => saveBytes(json(), `${run.id}-step-${label}.json`, 'application/json'),
    },
  ]
}
