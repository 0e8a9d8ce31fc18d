import { Menu } from '@base-ui/react/menu'
import { clock, count, plural, stepCountsText } from '@retake/tape/present'
import { useId, useState } from 'react'
import { Button } from '../design/button.js'
import { classes } from '../design/classes.js'
import { ChevronDownIcon, CloseIcon } from '../design/icons.js'
import { type ChoiceField, choicesOf, type FilteredRows, isEmpty } from './data/row-filter.js'
import { laneName, type RowStore } from './data/row-store.js'
import type { Run } from './data/use-run.js'
import type { Filtering } from './data/use-selection.js'

interface FilterBarProps {
  readonly run: Run
  readonly shown: FilteredRows
  readonly filtering: Filtering
}

export function FilterBar({ run, shown, filtering }: FilterBarProps) {
  const { head, rows } = run
  const { filter, clear } = filtering
  const menu = { rows, filtering }
  const nameOfLane = (lane: string | number): string =>
    laneName(Number(lane), head.lanes.find(({ id }) => id === lane)?.name)
  return (
    <div
      role="toolbar"
      aria-label="Filters"
      className="flex min-w-0 flex-1 items-center gap-1 overflow-x-auto"
    >
      <FilterMenu {...menu} field="kind" />
      <FilterMenu {...menu} field="state" />
      {(head.lanes.length > 1 || filter.lane !== undefined) && (
        <FilterMenu {...menu} field="lane" nameOf={nameOfLane} />
      )}
      <FilterMenu {...menu} field="tool" />
      <FilterMenu {...menu} field="model" />
      {(head.branch !== undefined || filter.origin !== undefined) && (
        <FilterMenu {...menu} field="origin" />
      )}
      <CostFilter filtering={filtering} />
      <TimeChip filtering={filtering} />
      <output className="ml-auto shrink-0 pl-2 whitespace-nowrap">
        {isEmpty(filter) ? stepCountsText(rows) : hiddenText(shown)}
      </output>
      {!isEmpty(filter) && (
        <Button look="quiet" className="h-6 shrink-0 px-1.5 text-sm" onClick={clear}>
          Clear filters
        </Button>
      )}
    </div>
  )
}

/** How many rows are shown, and how many are hidden although they might match. */
function hiddenText({ rows, filter, steps }: FilteredRows): string {
  const text = `${count(steps)} of ${plural(rows.steps + rows.inferred, 'row')}`
  const unknown = filter.cost === undefined ? 0 : (rows.totals?.unknownCost.length ?? 0)
  return unknown === 0 ? text : `${text}, ${count(unknown)} hidden with unknown cost`
}

function TimeChip({ filtering: { filter, change } }: { filtering: Filtering }) {
  const { from, to } = filter
  if (from === undefined && to === undefined) return null
  const text = `${clock(from ?? 0)} to ${to === undefined ? 'the end' : clock(to)}`
  return (
    <button
      type="button"
      aria-label={`Time ${text}: show all times`}
      className="inline-flex h-6 shrink-0 items-center gap-1 rounded border border-accent bg-accent-soft px-1.5 whitespace-nowrap text-accent"
      onClick={() => change({ from: undefined, to: undefined })}
    >
      {text}
      <CloseIcon />
    </button>
  )
}

function CostFilter({ filtering: { filter, change } }: { filtering: Filtering }) {
  const id = useId()
  const { cost } = filter
  const [text, setText] = useState<string>()
  const take = (): void => {
    if (text === undefined) return
    setText(undefined)
    const value = Number(text.replace(/^\$/, '').trim())
    const next = text.trim() === '' || !Number.isFinite(value) || value < 0 ? undefined : value
    if (next !== cost) change({ cost: next })
  }
  return (
    <span
      className={classes(
        'inline-flex h-6 shrink-0 items-center gap-1 rounded border px-1.5',
        cost === undefined
          ? 'border-transparent text-muted'
          : 'border-accent bg-accent-soft text-accent',
      )}
    >
      <label htmlFor={id} className="whitespace-nowrap">
        cost ≥ $
      </label>
      <input
        id={id}
        inputMode="decimal"
        size={6}
        className="h-5 w-12 rounded-xs border border-transparent bg-transparent px-1 font-mono text-sm text-text hover:border-line-field focus:border-line-field"
        placeholder="0"
        value={text ?? (cost === undefined ? '' : String(cost))}
        onChange={(event) => setText(event.target.value)}
        onBlur={take}
        onKeyDown={(event) => {
          if (event.key === 'Enter') take()
          if (event.key === 'Escape') setText(undefined)
        }}
      />
    </span>
  )
}

interface FilterMenuProps {
  readonly field: ChoiceField
  readonly rows: RowStore
  readonly filtering: Filtering
  readonly nameOf?: (value: string | number) => string
}

function FilterMenu(props: FilterMenuProps) {
  const { field, filtering, nameOf = String } = props
  const chosen = (filtering.filter[field] ?? []) as readonly (string | number)[]
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
          ? field
          : `${field}: ${chosen.length > 2 ? `${chosen.length} of them` : chosen.map(nameOf).join(', ')}`}
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

/** Counts the steps of each choice when the menu opens. */
function Choices({ field, rows, filtering, nameOf, chosen }: ChoicesProps) {
  const choices = choicesOf(rows.columns, field, filtering.filter)
  const toggle = (value: string | number): void => {
    const next = chosen.includes(value)
      ? chosen.filter((each) => each !== value)
      : [...chosen, value]
    filtering.change({ [field]: next.length === 0 ? undefined : next })
  }
  if (choices.length === 0) return <p className="px-3 py-1 text-muted">No steps to filter.</p>
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
