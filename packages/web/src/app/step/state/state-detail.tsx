import type { CapturedVariable } from '@retake/tape'
import { useMemo } from 'react'
import { plural } from '@retake/tape/present'
import type { StateView } from '../../../model/state-view.js'
import { Badge } from '../../design/badge.js'
import { Field } from '../field/field-links.js'
import { JsonTree } from '../json/json-tree.js'
import { spokenLine, SpokenValue, spokenTree } from '../json/spoken-value.js'
import { placed } from '../placed.js'
import { Section } from '../section.js'
import { StepLink } from '../step-link.js'
import { VisibleText } from '../text/visible-text.js'
import { changedVariables } from './changed-variables.js'

/** A captured state: what changed, and every frame with its variables. */
export function StateDetail({ state }: { readonly state: StateView }) {
  const changed = changedVariables(state)
  return (
    <>
      {!state.isDirect && (
        <p className="text-warning">
          No line ran for this answer alone. This is the state at a later one.
        </p>
      )}
      <Section
        title={
          <>
            {state.comparedWith === undefined ? (
              'Changes'
            ) : (
              <>
                {plural(state.changes.length, 'change')} since{' '}
                <StepLink label={state.comparedWith}>step {state.comparedWith}</StepLink>
                {state.sameLane === true && ', the one before in its lane'}
              </>
            )}
          </>
        }
      >
        {state.comparedWith === undefined ? (
          <p className="text-muted">No state was captured before this one to compare with.</p>
        ) : (
          <Changes changes={state.changes} />
        )}
      </Section>
      {placed(state.frames).map(({ place, it: frame }) => (
        <Section
          key={place}
          title={
            <span className="font-mono">
              <VisibleText text={frame.name} />{' '}
              <span className="font-normal">
                <VisibleText text={`${frame.location.file}:${frame.location.line}`} />
              </span>
            </span>
          }
        >
          {frame.variables.length === 0 && <p className="text-muted">No variables.</p>}
          {placed(frame.variables).map(({ place: index, it: variable }) => (
            <Variable
              key={index}
              variable={variable}
              path={`frames.${place}.variables.${index}`}
              isChanged={changed.has(variable)}
            />
          ))}
        </Section>
      ))}
    </>
  )
}

function Changes({ changes }: Pick<StateView, 'changes'>) {
  if (changes.length === 0) return <p className="text-muted">Nothing changed.</p>
  return (
    <ul className="font-mono text-sm">
      {placed(changes.slice(0, 200)).map(({ place, it: change }) => (
        <li key={place}>
          <Field
            path={`changes.${place}`}
            isWhole
            className="border-l-2 border-accent py-0.5 pl-2 [overflow-wrap:anywhere]"
          >
            <VisibleText text={change.path} />:{' '}
            {'before' in change ? (
              <del className="text-danger">
                <VisibleText text={shortLine(change.before)} />
              </del>
            ) : (
              <span className="text-muted">was not there</span>
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
        <li className="text-muted">{changes.length - 200} more, seen in the variables below</li>
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
  const tree = useMemo(() => spokenTree(json), [json])
  const isTree = typeof tree === 'object' && tree !== null && !(tree instanceof SpokenValue)
  return (
    <div
      className={`border-l-2 py-0.5 pl-2 ${isChanged ? 'border-accent bg-accent-soft' : 'border-transparent'}`}
    >
      <Field path={path} isWhole={!isTree} className="font-mono text-sm [overflow-wrap:anywhere]">
        <span className="text-kind-model">
          <VisibleText text={name} />
        </span>{' '}
        {!isTree && <VisibleText text={text} />}
        <span className="ml-2 font-sans text-xs text-muted">
          {type}, {scope}
        </span>{' '}
        {isChanged && <Badge tone="accent">changed</Badge>}
        {cut && <Badge title="A limit left something out">cut</Badge>}
      </Field>
      {isTree && <JsonTree label={name} value={tree} path={`${path}.json`} />}
    </div>
  )
}

const shortLine = (value: unknown): string => {
  const text = spokenLine(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
