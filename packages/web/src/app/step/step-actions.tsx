import { Menu } from '@base-ui/react/menu'
import { useCommands } from '../commands/use-commands.js'
import { ForkButton } from '../change/fork-button.js'
import { Button } from '../design/button.js'
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
      <Menu.Root>
        <Menu.Trigger render={<Button>Copy</Button>} />
        <Menu.Portal>
          <Menu.Positioner sideOffset={4} align="end" className="z-40">
            <Menu.Popup className="min-w-48 rounded border border-line-strong bg-surface py-1 text-text shadow-lg">
              {copies.map(({ id, title, keys, disabled, run: copy }) => (
                <Menu.Item
                  key={id}
                  disabled={disabled !== undefined}
                  title={disabled}
                  onClick={copy}
                  className="flex cursor-default items-center justify-between gap-6 px-3 py-1 outline-none data-disabled:text-muted data-highlighted:bg-accent-soft"
                >
                  {title}
                  {keys[0] !== undefined && (
                    <kbd className="font-mono text-xs text-muted">{keys[0]}</kbd>
                  )}
                </Menu.Item>
              ))}
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
    </div>
  )
}
