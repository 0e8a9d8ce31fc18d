import type {
  Position,
  StackLine,
  StoppedPosition,
  Timeline,
  Variable,
} from '@retake/engine/inspect'
import type { CapturedState } from '@retake/tape'
import { compareStates } from '@retake/web'
import type { SessionPosition, StackLineView } from '@retake/web'
import { fromHere } from '../../from-here.js'
import { sourceLine } from '../../source-excerpt.js'

/** A stop of a timeline as a captured state: user code only, and no functions among its variables. */
export async function stateAt(timeline: Timeline, stop: StoppedPosition): Promise<CapturedState> {
  const { moment, isDirect, location, stack } = stop
  const source = location && sourceLine(location)
  const frames = await Promise.all(
    stack.map(async ({ name, location: at, isUser, isAsync }, index) =>
      isUser && !isAsync
        ? [{ name, location: at, variables: (await timeline.locals(index)).filter(isState) }]
        : [],
    ),
  )
  return {
    step: moment.label,
    seq: moment.seq,
    isDirect,
    location,
    ...(source !== undefined && { source }),
    frames: frames.flat(),
    asyncFrames: stack
      .filter(({ isAsync, isUser }) => isAsync && isUser)
      .map(({ name, location: at }) => ({ name, location: at })),
  }
}

/** Functions and imports are code, not state. */
const isState = ({ type }: Variable): boolean => type !== 'function' && type !== 'Module'

/** Where a timeline stands, for a page; `state` is that of the stop, `before` that of the stop before. */
export function sessionPosition(
  position: Position,
  state: CapturedState | undefined,
  before: CapturedState | undefined,
): SessionPosition {
  if (position.kind === 'start') return { kind: 'start' }
  if (position.kind === 'end' || state === undefined)
    return { kind: 'end', ...(position.moment && { step: position.moment.label }) }
  const { moment, stack } = position
  return {
    kind: 'stop',
    step: moment.label,
    index: moment.index,
    title: moment.title,
    state: compareStates(before, state),
    stack: stack.map(stackLineView),
  }
}

const stackLineView = ({ name, location, isUser, isAsync }: StackLine): StackLineView => ({
  name,
  file: fromHere(location.file),
  line: location.line,
  column: location.column,
  isUser,
  isAsync,
})
