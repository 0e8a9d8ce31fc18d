import type { CapturedVariable } from '@retake/tape'
import { plural } from '@retake/tape/present'
import { type ReactNode, useMemo } from 'react'
import { changedVariables, type StateView } from '../../model/state-view.js'
import { Badge } from '../design/badge.js'
import type { Run } from '../run/data/use-run.js'
import { Field, FieldSection, StepLink } from '../values/field.js'
import { describeLine, describeTree, DescribedValue, JsonTree } from '../values/json-tree.js'
import { indexed } from '../values/text-parts.js'
import { VisibleText } from '../values/text.js'

export interface LiveStateProps {
  readonly run: Run
  readonly step: string
  /** Shown while no program is paused. */
  readonly captured: ReactNode
}

export function StateDetail({ state }: { state: StateView }) {
  return (
    <>
      {!state.isDirect && (
        <p className="text-warning">
          No line of your code ran for this answer alone. This is the state after a later answer.
        </p>
      )}
      {state.comparedWith === undefined ? (
        <p className="text-muted">There is no earlier state to compare with.</p>
      ) : (
        <FieldSection
          label="Changes"
          title={
            <>
              {plural(state.changes.length, 'change')} since{' '}
              <StepLink label={state.comparedWith}>step {state.comparedWith}</StepLink>
              {state.sameLane === true && ', the previous step in its lane'}
            </>
          }
        >
          <Changes changes={state.changes} />
        </FieldSection>
      )}
      <FrameList state={state} />
    </>
  )
}

export function FrameList({ state }: { state: StateView }) {
  const changed = changedVariables(state)
  return indexed(state.frames).map(({ index: position, item: frame }) => (
    <FieldSection
      key={position}
      title={
        <span className="font-mono">
          <VisibleText text={frame.name || '(top level)'} />{' '}
          <VisibleText
            text={`${frame.location.file}:${frame.location.line}`}
            className="font-normal"
          />
        </span>
      }
    >
      {frame.variables.length === 0 && <p className="text-muted">No variables.</p>}
      {indexed(frame.variables).map(({ index, item: variable }) => (
        <Variable
          key={index}
          variable={variable}
          path={`frames.${position}.variables.${index}`}
          isChanged={changed.has(variable)}
        />
      ))}
    </FieldSection>
  ))
}

function Changes({ changes }: Pick<StateView, 'changes'>) {
  if (changes.length === 0) return <p className="text-muted">Nothing changed.</p>
  return (
    <ul className="font-mono text-sm">
      {indexed(changes.slice(0, 200)).map(({ index: position, item: change }) => (
        <li key={position}>
          <Field
            path={`changes.${position}`}
            isWhole
            className="border-l-2 border-accent py-0.5 pl-2 [overflow-wrap:anywhere]"
          >
            <VisibleText text={change.path} />:{' '}
            {'before' in change ? (
              <del className="text-danger">
                <VisibleText text={shortLine(change.before)} />
              </del>
            ) : (
              <span className="text-muted">did not exist</span>
            )}
            <span className="text-muted"> → </span>
            {'after' in change ? (
              <ins className="text-good no-underline">
                <VisibleText text={shortLine(change.after)} />
              </ins>
            ) : (
              <span className="text-muted">is gone</span>
            )}
          </Field>
        </li>
      ))}
      {changes.length > 200 && (
        <li className="text-muted">{changes.length - 200} more; see the variables below</li>
      )}
    </ul>
  )
}

function Variable(props: {
  readonly variable: CapturedVariable
  readonly path: string
  readonly isChanged: boolean
}) {
  const { variable, path, isChanged } = props
  const { name, scope, type, text, json, cut } = variable
  const tree = useMemo(() => describeTree(json), [json])
  const isTree = typeof tree === 'object' && tree !== null && !(tree instanceof DescribedValue)
  return (
    <div
      className={`border-l-2 py-0.5 pl-2 ${isChanged ? 'border-accent bg-accent-soft' : 'border-transparent'}`}
    >
      <Field path={path} isWhole={!isTree} className="font-mono text-sm [overflow-wrap:anywhere]">
        <VisibleText text={name} className="text-kind-model" />{' '}
        {!isTree && <VisibleText text={text} />}
        <span className="ml-2 font-sans text-xs text-muted">
          {type}, {scope}
        </span>{' '}
        {isChanged && <Badge tone="accent">changed</Badge>}
        {cut && (
          <Badge title="A part of this value exceeds a limit and was not captured.">cut</Badge>
        )}
      </Field>
      {isTree && <JsonTree label={name} value={tree} path={`${path}.json`} />}
    </div>
  )
}

const shortLine = (value: unknown): string => {
  const text = describeLine(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
