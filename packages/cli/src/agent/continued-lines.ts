import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { cost, duration, plural } from '@retake/tape/present'
import { atText, branchFacts, type BranchFacts, editText } from '../runs/branch-tree.js'
import type { Continued } from './continue-agent.js'
import { divergenceAdvice, recordCommand } from './divergence-advice.js'
import { divergenceReport } from './divergence-report.js'
import { fromHere, type Look, type Paint, printable, wrap } from '../terminal/terminal.js'
import { stepAt, viewRun } from '../runs/view-run.js'

/** What a run came to that went on from a tape, for a person. `did` is the past of the command. */
export function continuedLines(
  parent: Tape,
  continued: Continued,
  did: 'forked' | 'resumed' | 'rerun',
  look: Look,
): string[] {
  const { divergences, isLive, settled } = continued
  const { paint, width } = look
  const [divergence] = divergences
  if (divergence !== undefined) return prefixDiffers(parent, continued, look)
  if (!isLive)
    return [
      `${paint('green', 'identical')} · all of ${parent.run.id} was served: nothing differs, nothing was asked, nothing was recorded`,
    ]
  const tape = openTape(continued.tape)
  const facts = continuedFacts(parent, continued, tape)
  return [
    `${paint('green', did)} ${paint('bold', tape.run.id)} ${whence(tape, did)} · ${endOf(continued)}`,
    ...leftLines(parent, continued, look),
    ...(tape.details.branch?.edits ?? []).map((edit) => `  changed  ${editText(edit, width - 11)}`),
    ...settled.map(
      ({ what, decision, seq }) =>
        `  ${paint('yellow', 'in doubt')} ${stepLabel(tape, seq)}${printable(what)}: ${decision}`,
    ),
    ...factLines(facts, paint),
    tape.run.parent === undefined
      ? `  next     retake show ${tape.run.id}`
      : `  next     retake diff ${tape.run.parent.run} ${tape.run.id}`,
  ]
}

/** What was served and what was paid by going on. A killed run is continued on the tape it has. */
export function continuedFacts(parent: Tape, { settled }: Continued, written: Tape): BranchFacts {
  const view = viewRun(written)
  if (written.run.id !== parent.run.id) return branchFacts(written, view)
  const unasked = settled.filter(({ decision }) => decision === 'skipped').map(({ seq }) => seq)
  return branchFacts(written, view, { from: parent.count, unasked: new Set(unasked) })
}

/** What was served and what was paid, in two lines. */
export function factLines(facts: BranchFacts, paint: Paint): string[] {
  return [
    `  ${paint('green', 'saved')}    ${[plural(facts.savedRequests, 'request'), `${facts.savedTokens} tokens`, money(facts.savedUsd), duration(facts.savedMs)].join(' · ')} (${plural(facts.served, 'step')} served)`,
    `  paid     ${[plural(facts.paidRequests, 'request'), `${facts.paidTokens} tokens`, money(facts.paidUsd)].join(' · ')} (${plural(facts.live, 'step')} live)`,
  ]
}

const money = (usd: number | undefined): string => (usd === undefined ? 'cost unknown' : cost(usd))

const endOf = ({ code, signal }: Continued): string =>
  signal === undefined ? `exit code ${code}` : `killed by ${signal}`

function whence({ run, details: { branch } }: Tape, did: string): string {
  if (run.parent === undefined) return 'on its own tape'
  const at = branch?.at === undefined ? '' : ` at ${atText(branch.at)}`
  return `${did === 'rerun' ? 'as a branch of' : 'from'} ${run.parent.run}${at}`
}

function stepLabel(tape: Tape, seq: number): string {
  const step = viewRun(tape).recordedSteps.find((candidate) => candidate.seq === seq)
  return step === undefined ? '' : `step ${step.label} `
}

/** Where and why a rerun went live. */
function leftLines(parent: Tape, { left }: Continued, { width }: Look): string[] {
  if (left === undefined) return []
  const { recordedSteps } = viewRun(parent)
  const step = recordedSteps.find(({ seq }) => seq === left.seq)
  const before = recordedSteps.findLast(({ seq }) => seq < left.seq)
  const place = step ? ` at step ${step.label},` : before ? ` after step ${before.label},` : ''
  const site = left.site === undefined ? '' : ` (${fromHere(left.site)})`
  const text = `live${place} event ${left.seq}: ${printable(left.summary)}${site}`
  return wrap(text, width - 2).map((line) => `  ${line}`)
}

function prefixDiffers(parent: Tape, { divergences, isLive }: Continued, look: Look): string[] {
  const [divergence] = divergences
  if (divergence === undefined) return []
  const step = stepAt(viewRun(parent), divergence.seq)
  const fix = isLive
    ? [
        'After the change the agent asks for something that its parent was not',
        'asked. Leave out --tail offline to ask it live.',
      ]
    : [
        ...divergenceAdvice(parent, divergence, { again: recordCommand(parent) }),
        `\`retake rerun ${parent.run.id}\` goes live where it differs.`,
      ]
  const place = { events: parent.count, fix, ...(step && { step: `step ${step.label}` }) }
  return [
    ...divergenceReport(divergence, place, look),
    isLive
      ? '  Nothing was asked. The branch holds what could be served.'
      : '  Nothing was asked and nothing was recorded.',
  ]
}
