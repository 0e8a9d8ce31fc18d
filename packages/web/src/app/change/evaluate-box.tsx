import { useId, useState, type KeyboardEvent } from 'react'
import { Button } from '../design/button.js'
import { fieldLook } from '../design/text-field.js'
import { EvaluatedValue } from './evaluated-value.js'
import type { Evaluated, StandingStore } from './standing.js'

export interface EvaluateBoxProps {
  readonly store: StandingStore
  readonly evaluated: readonly Evaluated[]
}

/** Asks the program for the value of an expression. Arrow keys bring back earlier ones. */
export function EvaluateBox({ store, evaluated }: EvaluateBoxProps) {
  const id = useId()
  const [text, setText] = useState('')
  const [back, setBack] = useState(0)
  const earlier = [...new Set(evaluated.map(({ expression }) => expression))]
  const ask = (): void => {
    const expression = text.trim()
    if (expression === '') return
    setText('')
    setBack(0)
    void store.evaluate(expression)
  }
  const onKey = (event: KeyboardEvent): void => {
    // Nobody writes with it, so it moves the program from here too.
    if (event.key === 'F10') {
      event.preventDefault()
      void store.move({ to: event.shiftKey ? 'back' : 'next' })
    }
    const by = event.key === 'ArrowUp' ? 1 : event.key === 'ArrowDown' ? -1 : 0
    if (by === 0) return
    event.preventDefault()
    const next = Math.max(0, Math.min(earlier.length, back + by))
    setBack(next)
    setText(next === 0 ? '' : (earlier.at(-next) ?? ''))
  }
  return (
    <section aria-label="Evaluate">
      <form
        className="flex items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          ask()
        }}
      >
        <div className="min-w-0 flex-1">
          <label htmlFor={id} className="text-sm text-muted">
            Evaluate at this place
          </label>
          <input
            id={id}
            className={`${fieldLook} font-mono`}
            autoComplete="off"
            spellCheck={false}
            placeholder="messages.length"
            value={text}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={onKey}
          />
        </div>
        <Button type="submit">Evaluate</Button>
        <Button
          look="quiet"
          disabled={text.trim() === ''}
          title="Evaluate it again after every move"
          onClick={() => {
            void store.watch(text.trim())
            setText('')
          }}
        >
          Watch
        </Button>
      </form>
      <ol
        className="mt-1 flex max-h-80 flex-col-reverse justify-end overflow-auto"
        aria-live="polite"
      >
        {evaluated.map((each) => (
          <li key={each.id} className="border-b border-line py-1">
            <EvaluatedValue evaluated={each} />
          </li>
        ))}
      </ol>
    </section>
  )
}
