import type { RecordedError } from '@retake/tape'
import { useMemo } from 'react'
import { plural } from '@retake/tape/present'
import { copyAndSay } from '../copy/copy-and-say.js'
import { Field } from '../field/field-links.js'
import { placed } from '../placed.js'
import { JsonTree } from '../json/json-tree.js'
import { textOf } from '../json/clipped.js'
import { LongText } from '../text/long-text.js'
import { VisibleText } from '../text/visible-text.js'
import { stackFrames, type StackFrame } from './stack-frames.js'

export interface ErrorViewProps {
  readonly error: RecordedError
  readonly path: string
  readonly depth?: number
}

/** Causes that are shown below one another. */
const CAUSES = 20

/** An error: what it says, its class and code, where it was thrown, and what caused it. */
export function ErrorView({ error, path, depth = 0 }: ErrorViewProps) {
  const { text, length } = textOf(error.message)
  const props = useMemo(() => ownProps(error), [error])
  const name = error.name === '' ? error.class : error.name
  return (
    <div className="flex flex-col gap-1.5">
      <Field path={`${path}.message`} className="text-danger [overflow-wrap:anywhere]">
        <span className="font-medium">
          <VisibleText text={name} />
        </span>
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
        <button
          type="button"
          className="text-accent hover:underline"
          onClick={() => void copyAndSay('the error', error.stack ?? `${name}: ${text}`)}
        >
          Copy
        </button>
      </p>
      {error.stack !== undefined && (
        <Field path={`${path}.stack`}>
          <Stack stack={textOf(error.stack).text} />
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
        placed(error.errors?.slice(0, 20) ?? []).map(({ place, it: each }) => (
          <div key={place} className="mt-1 border-l-2 border-line-strong pl-3">
            <div className="text-xs text-muted">
              {place + 1} of {error.errors?.length}
            </div>
            <ErrorView error={each} path={`${path}.errors.${place}`} depth={depth + 1} />
          </div>
        ))}
    </div>
  )
}

/** What is told nowhere else: a mark stands for what has a field of its own. */
function ownProps({ props = {} }: RecordedError): object | undefined {
  const own = Object.entries(props).filter(([, value]) => JSON.stringify(value) !== '{"$":"field"}')
  return own.length === 0 ? undefined : Object.fromEntries(own)
}

function Stack({ stack }: { readonly stack: string }) {
  const frames = stackFrames(stack)
  if (frames.length === 0) return null
  const own = frames.filter(({ isOwn }) => isOwn)
  const other = frames.filter(({ isOwn }) => !isOwn)
  return (
    <div>
      <Frames frames={own} />
      {other.length > 0 && (
        <details open={own.length === 0}>
          <summary className="cursor-pointer text-sm text-muted">
            {plural(other.length, 'frame')} of packages and Node
          </summary>
          <Frames frames={other} />
        </details>
      )}
    </div>
  )
}

const Frames = ({ frames }: { readonly frames: readonly StackFrame[] }) => (
  <ol className="font-mono text-sm">
    {placed(frames).map(({ place, it: { text, isOwn } }) => (
      <li
        key={place}
        className={`pl-4 -indent-2 [overflow-wrap:anywhere] ${isOwn ? '' : 'text-muted'}`}
      >
        at <VisibleText text={text} />
      </li>
    ))}
  </ol>
)
