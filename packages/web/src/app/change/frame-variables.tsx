import type { StateView } from '../../model/state-view.js'
import { JsonTree } from '../step/json/json-tree.js'

export interface FrameVariablesProps {
  readonly frame: StateView['frames'][number]
  readonly isOpen: boolean
}

/** The variables of one function, each as a tree where it has parts. */
export function FrameVariables({ frame, isOpen }: FrameVariablesProps) {
  return (
    <details open={isOpen} className="rounded border border-line">
      <summary className="cursor-pointer px-2 py-1">
        {frame.name === '' ? '(outside functions)' : frame.name}{' '}
        <span className="font-mono text-sm text-muted wrap-anywhere">
          {frame.location.file}:{frame.location.line}
        </span>
      </summary>
      <dl className="border-t border-line px-2 py-1">
        {frame.variables.map((variable) => (
          <div key={`${variable.scope} ${variable.name}`} className="border-b border-line py-0.5">
            <dt className="font-mono text-sm">
              <span className="text-kind-model">{variable.name}</span>{' '}
              <span className="text-muted">
                {variable.type}
                {variable.scope !== 'local' && ` · ${variable.scope}`}
              </span>
            </dt>
            <dd className="pl-3">
              <ValueTree
                label={variable.name}
                json={variable.json}
                text={variable.text}
                isCut={variable.cut}
              />
            </dd>
          </div>
        ))}
        {frame.variables.length === 0 && <p className="text-muted">No variables.</p>}
      </dl>
    </details>
  )
}

export interface ValueTreeProps {
  readonly label: string
  readonly json: unknown
  /** Stands for values that are no plain data. */
  readonly text: string
  readonly isCut: boolean
}

/** A value of the program: a tree where it has parts, one line otherwise. */
export function ValueTree({ label, json, text, isCut }: ValueTreeProps) {
  const hasParts = typeof json === 'object' && json !== null
  return (
    <>
      {hasParts ? (
        <JsonTree label={label} value={json} path={`state.${label}`} />
      ) : (
        <span className="font-mono text-sm wrap-anywhere whitespace-pre-wrap">{text}</span>
      )}
      {isCut && (
        <p className="text-sm text-muted">It is larger; evaluate a part of it to see that.</p>
      )}
    </>
  )
}
