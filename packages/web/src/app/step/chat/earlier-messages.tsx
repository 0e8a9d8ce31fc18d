import { count, plural } from '@retake/tape/present'
import type { Conversation } from '../../../model/step-detail.js'
import { StepLink } from '../step-link.js'
import type { ShownMessages } from './use-messages.js'

/** Messages that are shown more at a time. */
const MORE = 60

export interface EarlierMessagesProps {
  readonly conversation: Conversation
  readonly shown: ShownMessages
  readonly onShow: (from: number) => void
}

/** Stands for the messages before those that are shown, and shows them. */
export function EarlierMessages({ conversation, shown, onShow }: EarlierMessagesProps) {
  const { newFrom, seenIn } = conversation
  const { from, isLoading, error } = shown
  if (from === 0) return null
  return (
    <div className="flex flex-wrap items-center gap-x-3 border-y border-line bg-sunken px-3 py-1.5 text-sm text-muted">
      <span>
        {plural(from, 'earlier message')}
        {from <= newFrom && seenIn !== undefined && (
          <>
            , seen in <StepLink label={seenIn}>step {seenIn}</StepLink>
          </>
        )}
      </span>
      <button
        type="button"
        className="text-accent hover:underline"
        onClick={() => onShow(Math.max(0, from - MORE))}
      >
        Show {from > MORE ? `the ${MORE} before` : 'them'}
      </button>
      {from > MORE && (
        <button type="button" className="text-accent hover:underline" onClick={() => onShow(0)}>
          Show all {count(from)}
        </button>
      )}
      {isLoading && <span>Loading…</span>}
      {error && <span role="alert">{error.message}</span>}
    </div>
  )
}
