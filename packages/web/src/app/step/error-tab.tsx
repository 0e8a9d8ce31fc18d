import type { RecordedError } from '@retake/tape'
import { plural } from '@retake/tape/present'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type PrintedFrame, siteInStack, stackFrames } from '../../model/site-in-stack.js'
import { TextButton } from '../design/button.js'
import { copyWithToast } from '../design/toast.js'
import type { Run } from '../run/data/use-run.js'
import { useSelection } from '../run/data/use-selection.js'
import { Field, FieldSection, StepLink, type TabProps } from '../values/field.js'
import { rowTextOf, JsonTree } from '../values/json-tree.js'
import { SourceView } from './source-tab.js'
import { FrameList } from './state-detail.js'
import { stateQuery } from './state-tab.js'
import { indexed } from '../values/text-parts.js'
import { LongText, VisibleText } from '../values/text.js'

interface ErrorViewProps {
  readonly error: RecordedError
  readonly path: string
  readonly depth?: number
}

const CAUSES = 20

export function ErrorView({ error, path, depth = 0 }: ErrorViewProps) {
  const { text, length } = rowTextOf(error.message)
  const props = useMemo(() => {
    // Properties that are not shown elsewhere.
    const { props = {} } = error
    const own = Object.entries(props).filter(
      ([, value]) => JSON.stringify(value) !== '{"$":"field"}',
    )
    return own.length === 0 ? undefined : Object.fromEntries(own)
  }, [error])
  const name = error.name === '' ? error.class : error.name
  return (
    <div className="flex flex-col gap-1.5">
      <Field path={`${path}.message`} className="text-danger [overflow-wrap:anywhere]">
        <VisibleText text={name} className="font-medium" />
        <span className="whitespace-pre-wrap">
          : <LongText text={text} length={length} />
        </span>
      </Field>
      <p className="flex flex-wrap gap-x-3 text-sm">
        <span>
          <span className="text-muted">class</span> <VisibleText text={error.class} />
        </span>
        {error.code !== undefined && (
          <span>
            <span className="text-muted">code</span> <VisibleText text={String(error.code)} />
          </span>
        )}
        <TextButton
          onClick={() => void copyWithToast('the error', error.stack ?? `${name}: ${text}`)}
        >
          Copy
        </TextButton>
      </p>
      {error.stack !== undefined && (
        <Field path={`${path}.stack`}>
          <Stack stack={rowTextOf(error.stack).text} />
        </Field>
      )}
      {props !== undefined && (
        <JsonTree label="Properties of the error" value={props} path={`${path}.props`} />
      )}
      {error.cause !== undefined && depth < CAUSES && (
        <div className="mt-1 border-l-2 border-line-strong pl-3">
          <div className="text-xs text-muted">Caused by</div>
          <ErrorView error={error.cause} path={`${path}.cause`} depth={depth + 1} />
        </div>
      )}
      {depth < 3 &&
        indexed(error.errors?.slice(0, 20) ?? []).map(({ index, item: each }) => (
          <div key={index} className="mt-1 border-l-2 border-line-strong pl-3">
            <div className="text-xs text-muted">
              {index + 1} of {error.errors?.length}
            </div>
            <ErrorView error={each} path={`${path}.errors.${index}`} depth={depth + 1} />
          </div>
        ))}
    </div>
  )
}

function Stack({ stack }: { stack: string }) {
  const frames = stackFrames(stack)
  if (frames.length === 0) return null
  const own = frames.filter(({ isOwn }) => isOwn)
  const other = frames.filter(({ isOwn }) => !isOwn)
  return (
    <div>
      <StackFrames frames={own} />
      {other.length > 0 && (
        <details open={own.length === 0}>
          <summary className="cursor-pointer text-sm text-muted">
            {plural(other.length, 'frame')} of packages and Node
          </summary>
          <StackFrames frames={other} />
        </details>
      )}
    </div>
  )
}

const StackFrames = ({ frames }: { frames: readonly PrintedFrame[] }) => (
  <ol className="font-mono text-sm">
    {indexed(frames).map(({ index, item: { text, isOwn } }) => (
      <li
        key={index}
        className={`pl-4 -indent-2 [overflow-wrap:anywhere] ${isOwn ? '' : 'text-muted'}`}
      >
        at <VisibleText text={text} />
      </li>
    ))}
  </ol>
)

/** The last variables that were captured before a crash, if any. */
function LastVariables({ run, label }: { run: Run; label: string }) {
  const { data: state } = useQuery(stateQuery(run, label))
  if (state === undefined || state === null) return null
  return (
    <FieldSection
      title={
        <>
          Variables after <StepLink label={state.step}>step {state.step}</StepLink>, the last before
          the error
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <FrameList state={state} />
      </div>
    </FieldSection>
  )
}

export function ErrorTab({ run, detail }: TabProps) {
  const { show } = useSelection()
  const { failure, error, response, site } = detail
  const thrown = siteInStack(failure)
  return (
    <div className="flex flex-col gap-3 p-3">
      {failure === undefined ? (
        <Field path="error" className="text-danger [overflow-wrap:anywhere]">
          <VisibleText text={error ?? 'The error was not recorded.'} />
        </Field>
      ) : (
        <ErrorView error={failure} path="failure" />
      )}
      {response !== undefined && (
        <p>
          <TextButton onClick={() => show('response')}>
            Show the answer, {response.status} <VisibleText text={response.statusText} />
          </TextButton>
        </p>
      )}
      {(thrown ?? site) !== undefined && (
        <FieldSection title={thrown === undefined ? 'Where it was called' : 'Where it was thrown'}>
          <SourceView run={run} site={thrown ?? site ?? ''} />
        </FieldSection>
      )}
      {detail.kind === 'crash' && <LastVariables run={run} label={detail.label} />}
    </div>
  )
}
