import { Menu } from '@base-ui/react/menu'
import { count } from '@retake/tape/present'
import { classes } from '../design/classes.js'
import { ChevronDownIcon } from '../design/icons.js'
import { choicesOf, type ChoiceField } from './row-counts.js'
import type { RowStore } from './row-store.js'
import type { Filtering } from './use-filter.js'

export interface FilterMenuProps {
  readonly field: ChoiceField
  readonly title: string
  readonly rows: RowStore
  readonly filtering: Filtering
  /** What a value is called. */
  readonly nameOf?: (value: string | number) => string
}

/** Values of one field to choose from, with how many steps have each. */
export function FilterMenu(props: FilterMenuProps) {
  const { field, title, filtering, nameOf = String } = props
  const chosen = filtering.filter[field] as readonly (string | number)[]
  return (
    <Menu.Root>
      <Menu.Trigger
        className={classes(
          'inline-flex h-6 shrink-0 items-center gap-1 rounded border px-1.5 whitespace-nowrap data-[popup-open]:bg-sunken',
          chosen.length > 0
            ? 'border-accent bg-accent-soft text-accent'
            : 'border-transparent text-muted hover:bg-sunken hover:text-text',
        )}
      >
        {chosen.length === 0
          ? title
          : `${title}: ${chosen.length > 2 ? `${chosen.length} of them` : chosen.map(nameOf).join(', ')}`}
        <ChevronDownIcon />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="start" className="z-50 outline-none">
          <Menu.Popup className="max-h-[60vh] min-w-44 overflow-y-auto rounded-md border border-line-strong bg-surface py-1 text-text shadow-lg outline-none">
            <Choices {...props} nameOf={nameOf} chosen={chosen} />
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}

type ChoicesProps = Required<FilterMenuProps> & { readonly chosen: readonly (string | number)[] }

/** Counted when the menu is opened, not before. */
function Choices({ field, rows, filtering, nameOf, chosen }: ChoicesProps) {
  const choices = choicesOf(rows.columns, field, filtering.filter)
  const toggle = (value: string | number): void => {
    const next = chosen.includes(value)
      ? chosen.filter((each) => each !== value)
      : [...chosen, value]
    filtering.change({ [field]: next })
  }
  if (choices.length === 0) return <p className="px-3 py-1 text-muted">No step has one.</p>
  return choices.map(({ value, count: steps }) => (
    <Menu.CheckboxItem
      key={value}
      checked={chosen.includes(value)}
      onCheckedChange={() => toggle(value)}
      closeOnClick={false}
      className="mx-1 flex h-7 max-w-90 items-center gap-2 rounded px-2 data-[highlighted]:bg-accent-soft"
    >
      <span
        aria-hidden="true"
        className={classes(
          'inline-flex size-3.5 shrink-0 items-center justify-center rounded-xs border text-xs leading-none',
          chosen.includes(value) ? 'border-accent bg-accent text-on-accent' : 'border-line-strong',
        )}
      >
        {chosen.includes(value) && '✓'}
      </span>
      <span className="min-w-0 flex-1 truncate">{nameOf(value)}</span>
      <span className="font-mono text-sm text-muted">{count(steps)}</span>
    </Menu.CheckboxItem>
  ))
}
