import type { CallView } from '../../../model/step-detail.js'
import { ToolContent } from '../chat/tool-call-view.js'
import { ChatLookProvider } from '../chat/chat-look.js'
import { DownloadBody } from '../bytes/download-body.js'
import { ErrorView } from '../error/error-view.js'
import { Field } from '../field/field-links.js'
import { formatMs, plural } from '../format.js'
import { Section } from '../section.js'
import { AnsiText } from '../text/ansi-text.js'
import { VisibleText } from '../text/visible-text.js'
import type { TabProps } from './tab-props.js'

/** A tool or a child process: what it was given, what came of it, what it wrote. */
export function CallTab({ run, detail }: TabProps) {
  const { call, kind, label, state } = detail
  if (call === undefined) return <p className="p-3 text-muted">No call is on the tape.</p>
  const look = {
    mono: true,
    stepOfCall: () => undefined,
    wholeOf: (path: string) => (
      <DownloadBody
        run={run}
        label={label}
        side={path.startsWith('args') ? 'args' : 'result'}
        ending="json"
      />
    ),
  }
  const isAnswered = call.result !== undefined || call.error !== undefined
  return (
    <ChatLookProvider value={look}>
      <div className="flex flex-col gap-3 p-3">
        <Field path="name" className="font-mono font-medium [overflow-wrap:anywhere]">
          <VisibleText text={call.name} />
        </Field>
        <Section title={kind === 'process' ? 'Command' : 'Arguments'}>
          <ToolContent value={call.args} path="args" />
        </Section>
        {call.error === undefined ? (
          <Section title={kind === 'process' ? 'How it ended' : 'Result'}>
            {isAnswered ? (
              <ToolContent value={call.result} path="result" />
            ) : (
              <p className="text-muted">
                {state === 'running' ? 'No answer yet.' : 'No answer is on the tape.'}
              </p>
            )}
          </Section>
        ) : (
          <Section title="Error">
            <ErrorView error={call.error} path="error" />
          </Section>
        )}
        {call.output.length > 0 && <ChildOutput output={call.output} />}
      </div>
    </ChatLookProvider>
  )
}

const PIPES = ['stdin', 'stdout', 'stderr']
const PAGE = 500

function ChildOutput({ output }: { readonly output: CallView['output'] }) {
  return (
    <Section title={`What it wrote, ${plural(output.length, 'piece')}`}>
      {output.slice(0, PAGE).map(({ at, pipe, text }, place) => (
        <div key={place} className="flex gap-2 font-mono text-sm">
          <span className="w-16 shrink-0 text-right text-muted">{formatMs(at)}</span>
          <span className={`w-12 shrink-0 ${pipe === 2 ? 'text-danger' : 'text-muted'}`}>
            {PIPES[pipe] ?? `pipe ${pipe}`}
          </span>
          <Field
            path={`output.${place}`}
            className="flex-1 whitespace-pre-wrap [overflow-wrap:anywhere]"
          >
            <AnsiText text={text.replace(/\n$/, '')} />
          </Field>
        </div>
      ))}
      {output.length > PAGE && (
        <p className="text-sm text-muted">
          The first {PAGE} pieces. All of them are among the events of this step.
        </p>
      )}
    </Section>
  )
}
