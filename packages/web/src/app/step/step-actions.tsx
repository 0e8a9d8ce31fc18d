import { useCommands } from '../commands/use-commands.js'
import { ForkButton } from '../change/fork-button.js'
import { Button } from '../design/button.js'
import { CopyIcon } from '../design/icons.js'
import { Menu } from '../design/menu.js'
import type { StepDetail } from '../../model/step-detail.js'
import type { Run } from '../run/use-run.js'
import { useCopies } from './copy/use-copies.js'

/** Fork, and everything that can be copied or kept of a step. */
export function StepActions({ run, detail }: { readonly run: Run; readonly detail: StepDetail }) {
  const copies = useCopies(run, detail)
  useCommands(copies)
  return (
    <div className="flex shrink-0 items-center gap-1.5">
      <ForkButton run={run} step={detail} />
      <Menu
        trigger={
          <Button>
            <CopyIcon />
            Copy
          </Button>
        }
        items={copies.map(({ keys, ...command }) => ({ ...command, keys: keys[0] }))}
      />
    </div>
  )
}
