import type { Divergence, MovedRoot } from '@retake/engine'
import type { NotCaptured, Tape } from '@retake/tape'
import { changedPackages, changedSources } from './changed-sources.js'
import { fromHere } from '../terminal/terminal.js'
import { notCapturedFact } from './not-captured.js'
import { q } from '../sandbox/mount-script.js'
import { viewRun } from '../runs/view-run.js'

export interface AdviceOptions {
  /** Command that records the run again. */
  readonly again: string
  /** Variables and files for which the replayed program got placeholders, where that is known. */
  readonly placeholders?: readonly string[]
  /** The program is replayed in a copy of its folder. */
  readonly root?: MovedRoot
}

/** The command line that records a run again. */
export function recordCommand({ details }: Tape): string {
  const { entry = '', args = [], command, proxy } = details
  if (command === undefined) return ['retake record', entry, ...args].join(' ')
  const matchers = (proxy?.matchers ?? []).flatMap((matcher) => ['--matcher', matcher])
  return [
    'retake record',
    ...(proxy?.tls ? ['--tls'] : []),
    ...[...matchers, '--', ...command].map((word) => (PLAIN_WORD.test(word) ? word : q(word))),
  ].join(' ')
}

/** Matches text that needs no quotes in a shell. */
const PLAIN_WORD = /^[\w@%+=:,./-]+$/

/** Maximum number of named suspects; `retake show` lists everything that was not captured. */
const SUSPECTS_MAX = 5

/**
 * Advice about a divergence, one line each. If code has changed, that is the reason;
 * if not, something is not captured, and the advice names what it may be.
 */
export function divergenceAdvice(
  tape: Tape,
  divergence: Pick<Divergence, 'seq' | 'kind' | 'mismatches' | 'summary'>,
  { again, placeholders, root }: AdviceOptions,
): string[] {
  if (tape.details.command !== undefined) return commandAdvice(tape, divergence, again)
  const files = changedSources(tape, root).map(fromHere)
  const changes = [...files, ...changedPackages(tape, root)]
  const suspects = suspectsOf(tape, divergence, placeholders ?? maskedVariables(tape))
  if (changes.length > 0)
    return [
      `Changed since the recording: ${changes.join(', ')}.`,
      'Undo the change, or record again:',
      again,
    ]
  return [
    'The code is as recorded, so something is not captured.',
    ...(suspects.length === 0 ? [lookFor(tape)] : suspects.slice(0, SUSPECTS_MAX)),
  ]
}

/** The sources of a command are unknown, so a change to them cannot be detected. */
function commandAdvice(
  tape: Tape,
  divergence: Pick<Divergence, 'seq' | 'kind' | 'mismatches' | 'summary'>,
  again: string,
): string[] {
  return [
    'The command did something else than when it was recorded.',
    ...suspectsOf(tape, divergence, maskedVariables(tape)).slice(0, SUSPECTS_MAX),
    'Not recorded for a command: clock, random values, files, connections outside the proxy.',
    ...(divergence.kind === 'different'
      ? ['--matcher names what may differ in a request: see `retake docs proxy`.']
      : []),
    'If it is meant to differ, record again:',
    again,
  ]
}

const lookFor = ({ details: { entry } }: Tape): string =>
  entry === undefined
    ? 'Wrap what it depends on in tool(), so that its result is recorded.'
    : `\`retake doctor ${entry}\` looks for it.`

function suspectsOf(
  tape: Tape,
  { seq, mismatches, summary }: Pick<Divergence, 'seq' | 'mismatches' | 'summary'>,
  placeholders: readonly string[],
): string[] {
  // Without a mismatch the program did something else entirely: a key may have been refused.
  const isUsed =
    mismatches.length === 0 ||
    mismatches.some(({ field }) => /header|body|bytes|url|query/i.test(field))
  return [
    ...(isUsed && placeholders.length > 0
      ? [
          `${placeholders.slice(0, 3).join(', ')}: a placeholder in this replay, so a signature or password made from it fails or differs.`,
        ]
      : []),
    ...usedBefore(tape, seq).map((each) => `Not captured before that: ${notCapturedFact(each)}.`),
    ...(tape.run.scope === 'function' && summary.includes('waits')
      ? ['An AbortSignal or timer from outside the run may have ended the wait.']
      : []),
    ...(tape.run.node === process.version || tape.details.command !== undefined
      ? []
      : [`Recorded with Node ${tape.run.node}, replayed with ${process.version}.`]),
  ]
}

/** Uncaptured things that the run used up to this event. */
function usedBefore(tape: Tape, seq: number): NotCaptured[] {
  const names = new Set<string>()
  for (const event of tape.events()) {
    if (event.seq >= seq) break
    if (event.type === 'note' && event.kind === 'boundary') names.add(`${event.name} ${event.site}`)
  }
  return viewRun(tape).notCaptured.filter(({ what, at }) => names.has(`${what} ${at}`))
}

/** Names of variables that hold placeholders on the tape. */
const maskedVariables = ({ details: { env = {} } }: Tape): string[] =>
  Object.keys(env).filter((name) => env[name]?.includes('retake-h'))
