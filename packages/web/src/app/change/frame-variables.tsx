import type { CapturedVariable } from '@retake/tape'
import { useMemo } from 'react'
import type { StateView } from '../../model/state-view.js'
import { Badge } from '../design/badge.js'
import { JsonTree } from '../step/json/json-tree.js'
import { spokenTree } from '../step/json/spoken-value.js'

export interface FrameVariablesProps {
  readonly frame: StateView['frames'][number]
  readonly isOpen: boolean
  /** Those in which something changed. */
  readonly changed: ReadonlySet<CapturedVariable>
}

/** The variables of one function, each as a tree where it has parts. */
export function FrameVariables({ frame, isOpen, changed }: FrameVariablesProps) {
  return (
    <details open={isOpen} className="rounded border border-line">
      <summary className="cursor-pointer px-2 py-1">
        {frame.name === '' ? '(outside functions)' : frame.name}{' '}
        <span className="font-mono text-sm wrap-anywhere text-muted">
          {frame.location.file}:{frame.location.line}
        </span>
      </summary>
      <ul className="divide-y divide-line border-t border-line">
        {frame.variables.map((variable) => (
          <li
            key={`${variable.scope} ${variable.name}`}
            className={`border-l-2 px-2 py-0.5 ${
              changed.has(variable) ? 'border-l-accent bg-accent-soft' : 'border-l-transparent'
            }`}
          >
            <Variable variable={variable} isChanged={changed.has(variable)} />
          </li>
        ))}
        {frame.variables.length === 0 && <li className="px-2 text-muted">No variables.</li>}
      </ul>
    </details>
  )
}

function Variable({
  variable: { name, type, scope, text, json, cut },
  isChanged,
}: {
  readonly variable: CapturedVariable
  readonly isChanged: boolean
}) {
  const heading = (
    <>
      <span className="text-kind-model">{name}</span>
      <span className="mx-2 font-sans text-xs text-muted">
        {type}
        {scope !== 'local' && `, ${scope}`}
      </span>
      {isChanged && <Badge tone="accent">changed</Badge>}
    </>
  )
  return (
    <div className="font-mono text-sm wrap-anywhere">
      {heading} {!hasParts(json) && text}
      {hasParts(json) && <ValueTree label={name} json={json} text={text} isCut={cut} />}
    </div>
  )
}

/** An object with `$type` stands for something that JSON has no form for. */
const hasParts = (json: unknown): boolean =>
  typeof json === 'object' && json !== null && !Object.hasOwn(json, '$type')

export interface ValueTreeProps {
  readonly label: string
  readonly json: unknown
  /** Stands for values that are no plain data. */
  readonly text: string
  readonly isCut: boolean
}

/** A value of the program: a tree where it has parts, one line otherwise. */
export function ValueTree({ label, json, text, isCut }: ValueTreeProps) {
  const tree = useMemo(() => spokenTree(json), [json])
  return (
    <>
      {hasParts(json) ? (
        <JsonTree label={label} value={tree} path={`state.${label}`} />
      ) : (
        <span className="font-mono text-sm wrap-anywhere whitespace-pre-wrap">{text}</span>
      )}
      {isCut && (
        <p className="text-sm text-muted">It is larger; evaluate a part of it to see that.</p>
      )}
    </>
  )
}
