import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useCommands } from '../../commands/use-commands.js'
import { useRemembered } from '../../design/remembered.js'
import { Checkbox } from '../../design/checkbox.js'
import { readFieldPath } from '../field/field-path.js'
import { useFieldLinks } from '../field/field-links.js'
import { formatCount, plural } from '../format.js'
import { placed } from '../placed.js'
import { StepLink } from '../step-link.js'
import type { TabProps } from '../tabs/tab-props.js'
import { ChatLookProvider } from './chat-look.js'
import { MessageView } from './message-view.js'
import { callFinder } from './steps-of-calls.js'
import { firstShown, pairTools } from './tool-pairs.js'

/** Messages that are loaded at once when earlier ones are asked for. */
const PAGE = 60

/** The conversation: what is new in this step, what came before when it is asked for, and the answer. */
export function ChatTab({ run, detail }: TabProps) {
  const given = detail.conversation
  const { field } = useFieldLinks()
  const linked = linkedMessage(field)
  const [asked, setAsked] = useState<{ step: string; from: number }>()
  const [mono, setMono] = useRemembered('step.monospace', false)
  useCommands([
    {
      id: 'step.monospace',
      title: mono ? 'Show messages in the usual type' : 'Show messages in monospace',
      group: 'View',
      keys: ['m'],
      run: () => setMono(!mono),
    },
  ])
  const first = given === undefined ? 0 : Math.max(given.from, firstShown(given))
  const wanted = Math.min(asked?.step === detail.label ? asked.from : first, linked ?? Infinity)
  const isMore = given !== undefined && wanted < given.from
  const more = useQuery({
    queryKey: ['step', run.id, detail.label, 'from', wanted],
    queryFn: () => run.source.step(detail.label, { messagesFrom: wanted }),
    enabled: isMore,
    placeholderData: keepPreviousData,
  })
  const loaded = isMore ? more.data?.conversation : undefined
  const conversation = loaded ?? given
  const from = Math.max(conversation?.from ?? 0, wanted)
  const shown = useMemo(
    () => conversation?.messages.slice(from - conversation.from) ?? [],
    [conversation, from],
  )
  const pairs = useMemo(() => pairTools(shown, from), [shown, from])
  const look = useMemo(
    () => ({
      mono,
      run,
      label: detail.label,
      stepOfCall: callFinder(run.rows, detail),
      sideOf: (path: string) =>
        path.startsWith('answer') ? ('response' as const) : ('request' as const),
    }),
    [mono, run, detail],
  )
  if (given === undefined || conversation === undefined)
    return <p className="p-3 text-muted">There is no conversation in this step.</p>
  return (
    <ChatLookProvider value={look}>
      <div className="flex items-center gap-3 px-3 py-1.5 text-sm text-muted">
        <span>{plural(given.total, 'message')}</span>
        <span className="ml-auto">
          <Checkbox label="Monospace" isChecked={mono} onChange={setMono} />
        </span>
      </div>
      {from > 0 && (
        <div className="flex flex-wrap items-center gap-x-3 border-y border-line bg-sunken px-3 py-1.5 text-sm text-muted">
          <span>
            {plural(from, 'earlier message')}
            {from <= given.newFrom && given.seenIn !== undefined && (
              <>
                , seen in <StepLink label={given.seenIn}>step {given.seenIn}</StepLink>
              </>
            )}
          </span>
          <button
            type="button"
            className="text-accent hover:underline"
            onClick={() => setAsked({ step: detail.label, from: Math.max(0, from - PAGE) })}
          >
            Show {from > PAGE ? `the ${PAGE} before` : 'them'}
          </button>
          {from > PAGE && (
            <button
              type="button"
              className="text-accent hover:underline"
              onClick={() => setAsked({ step: detail.label, from: 0 })}
            >
              Show all {formatCount(from)}
            </button>
          )}
          {more.isFetching && <span>Loading…</span>}
          {more.error && <span role="alert">{more.error.message}</span>}
        </div>
      )}
      <ol className="divide-y divide-line" aria-label="Messages">
        {placed(shown, from).map(({ place, it: message }) => (
          <MessageView
            key={place}
            message={message}
            path={`messages.${place}`}
            pairs={pairs}
            isNew={given.newFrom > 0 && place >= given.newFrom}
          />
        ))}
        {shown.length === 0 && given.total > 0 && (
          <li className="px-3 py-2 text-muted">Nothing new was said before this answer.</li>
        )}
      </ol>
      <ol className="border-t-2 border-accent" aria-label="Answer">
        {placed(given.answer).map(({ place, it: message }) => (
          <MessageView
            key={place}
            message={message}
            path={`answer.${place}`}
            pairs={pairs}
            isAnswer
          />
        ))}
        {given.answer.length === 0 && (
          <li className="bg-raised px-3 py-2 text-muted">{noAnswer(detail.state)}</li>
        )}
      </ol>
    </ChatLookProvider>
  )
}

const noAnswer = (state: TabProps['detail']['state']): string =>
  state === 'running' ? 'No answer yet.' : 'No answer of the model is on the tape.'

/** Place of the message that a link points to. */
function linkedMessage(field: string | undefined): number | undefined {
  const [root, place] = readFieldPath(field ?? '')
  return root === 'messages' && /^\d{1,9}$/.test(place ?? '') ? Number(place) : undefined
}
