import { replayAgent } from '@retake/runner/agent'
import { explain, FOUND, type Options } from '@retake/runner/command-line'
import { stepAt, viewRun } from '@retake/runner/runs'
import {
  codeChangeLines,
  codeChanges,
  type CodeChanges,
  hasCodeChanges,
} from '@retake/runner/sources'
import { linesOf, locationOf, type Look, printable, wrap } from '@retake/runner/terminal'
import type { Tape } from '@retake/tape'
import { diffRuns } from '@retake/tape/diff'
import { plural } from '@retake/tape/present'

/** Effect of the changed code on the behaviour of the run. */
type Behaviour =
  | { readonly behaves: 'the same' }
  | { readonly behaves: 'not compared' }
  | {
      readonly behaves: 'differently'
      /** Label and title of the first step that differs; missing if none had begun. */
      readonly step?: string
      readonly title?: string
      readonly summary: string
    }
  | { readonly behaves: 'unknown'; readonly why: string }

/** `retake diff --code`: the changes of the code since a run, or between two runs. */
export async function diffCode(
  tape: Tape,
  other: Tape | undefined,
  options: Options,
): Promise<number> {
  const changes = codeChanges(tape, other)
  const isChanged = hasCodeChanges(changes)
  const behaviour = other ? betweenRuns(tape, other) : isChanged ? await today(tape) : UNCHANGED
  options.print(
    { run: tape.run.id, ...(other && { other: other.run.id }), ...changes, ...behaviour },
    (look) =>
      isChanged
        ? linesOf(
            ...headLines(changes, behaviour, look),
            ...codeChangeLines(changes, look, options.flag('full')),
          )
        : linesOf(look.paint('green', 'The code is the same.'), ...behaviourLines(behaviour, look)),
    2,
  )
  return isChanged ? FOUND : 0
}

/** The same code is not replayed: a run may still depend on something that was not captured. */
const UNCHANGED = { behaves: 'not compared' } as const

async function today(tape: Tape): Promise<Behaviour> {
  try {
    const { divergences } = await replayAgent(tape, { stdio: 'ignore' })
    const [first] = divergences
    if (first === undefined) return { behaves: 'the same' }
    const step = stepAt(viewRun(tape), first.seq)
    return {
      behaves: 'differently',
      ...(step && { step: step.label, title: step.title }),
      summary: first.summary,
    }
  } catch (error) {
    const explained = explain(error)
    if (explained === undefined) throw error
    return { behaves: 'unknown', why: explained.what }
  }
}

function betweenRuns(a: Tape, b: Tape): Behaviour {
  const views = [viewRun(a), viewRun(b)] as const
  const { first } = diffRuns(...views)
  if (first === undefined) return { behaves: 'the same' }
  const label = first.in === 'step' ? (first.a ?? first.b) : undefined
  const title = label === undefined ? undefined : views.map((view) => view.step(label)?.title)
  return {
    behaves: 'differently',
    ...(label !== undefined && { step: label, title: title?.[0] ?? title?.[1] ?? '' }),
    summary: locationOf(first),
  }
}

function headLines(
  { files, packages, node }: CodeChanges,
  behaviour: Behaviour,
  look: Look,
): string[] {
  const parts = linesOf(
    files.length > 0 && plural(files.length, 'file'),
    packages.length > 0 && plural(packages.length, 'package'),
    node !== undefined && 'Node',
  )
  return [look.paint('bold', `Changed: ${parts.join(', ')}`), ...behaviourLines(behaviour, look)]
}

function behaviourLines(behaviour: Behaviour, { width }: Look): string[] {
  if (behaviour.behaves === 'not compared') return []
  if (behaviour.behaves === 'the same') return ['No step behaves differently.']
  if (behaviour.behaves === 'unknown')
    return wrap(`Its behaviour is unknown: ${printable(behaviour.why)}`, width)
  const { step, title, summary } = behaviour
  return [
    ...wrap(
      step === undefined
        ? 'It behaves differently before its first step:'
        : `First step that behaves differently: ${step}  ${printable(title ?? '')}`,
      width,
    ),
    ...wrap(printable(summary), width - 2).map((line) => `  ${line}`),
  ]
}
