import { useMemo, useState } from 'react'
import { plural } from '@retake/tape/present'
import { useCommands } from '../../commands/use-commands.js'
import { useRemembered } from '../../design/remembered.js'
import { Checkbox } from '../../design/checkbox.js'
import { readFieldPath } from '../field/field-path.js'
import { useFieldLinks } from '../field/field-links.js'
import { placed } from '../placed.js'
import type { TabProps } from '../tabs/tab-props.js'
import { ChatLookProvider } from './chat-look.js'
import { EarlierMessages } from './earlier-messages.js'
import { MessageView } from './message-view.js'
import { callFinder } from './steps-of-calls.js'
import { firstShown, pairTools } from './tool-pairs.js'
import { useMessages } from './use-messages.js'

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
  const shown = useMessages(run, detail, wanted)
  const { from, messages } = shown
  const pairs = useMemo(() => pairTools(messages, from), [messages, from])
  // Which step ran a call is known when all rows are there.
  const { isComplete } = run.rows
  const look = useMemo(
    () => ({
      mono,
      run,
      label: detail.label,
      stepOfCall: isComplete ? callFinder(run.rows, detail) : () => undefined,
      sideOf: (path: string) =>
        path.startsWith('answer') ? ('response' as const) : ('request' as const),
    }),
    [mono, run, detail, isComplete],
  )
  if (given === undefined)
    return <p className="p-3 text-muted">There is no conversation in this step.</p>
  return (
    <ChatLookProvider value={look}>
      <div className="flex items-center gap-3 px-3 py-1.5 text-sm text-muted">
        <span>{plural(given.total, 'message')}</span>
        <span className="ml-auto">
          <Checkbox label="Monospace" isChecked={mono} onChange={setMono} />
        </span>
      </div>
      <EarlierMessages
        conversation={given}
        shown={shown}
        onShow={(next) => setAsked({ step: detail.label, from: next })}
      />
      <ol className="divide-y divide-line" aria-label="Messages">
        {placed(messages, from).map(({ place, it: message }) => (
          <MessageView
            key={place}
            message={message}
            path={`messages.${place}`}
            pairs={pairs}
            isNew={given.newFrom > 0 && place >= given.newFrom}
          />
        ))}
        {messages.length === 0 && given.total > 0 && (
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
