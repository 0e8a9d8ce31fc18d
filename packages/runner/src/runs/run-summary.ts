import type { RunCard } from '@retake/tape'
import { isBeingWritten, openOwnTape, openTape } from '@retake/tape/node'
import {
  type Durability,
  messageText,
  plainJson,
  type RunView,
  type SignatureState,
  type Tape,
  tapeErrors,
  attempt,
} from '@retake/tape'
import { plural, runEnd, runStatus, type RunStatus } from '@retake/tape/present'
import { explain, type ExplainedError } from '../terminal/print-error.js'
import { isCutOff, isRecording, type RunStore } from './run-store.js'
import { changedTags, tagsFileOf } from './run-tags.js'
import { viewRun } from './view-run.js'
import path from 'node:path'

export interface LocalRunRow extends Omit<RunCard, 'failedCheck'> {
  readonly path: string
  /** Set if the tape has no end, and no process is writing it. */
  readonly cutOff?: true
}

export type RunSummary =
  | LocalRunRow
  | (Pick<LocalRunRow, 'id' | 'path'> & { readonly error: ExplainedError })
/** A row in the index. Has no path, because folders move, and the recorded tags. */
export type StoredSummary = Omit<LocalRunRow, 'path'>

/**
 * Does not verify the tape, because a list of large tapes would take minutes: a damaged body that
 * no column needs is not noticed. Its status has the same meaning as elsewhere.
 */
export const summarizeRun = (id: string, file: string): RunSummary =>
  withChangedTags(readSummary(id, file))

function readSummary(id: string, file: string): RunSummary {
  try {
    const tape = openTape(file)
    const view = viewRun(tape)
    const { run, details } = tape
    const { branch, tags, imported } = details
    const status = statusOf(view, tape)
    const isExplained = status === 'failed' || status === 'stopped'
    const failure = isExplained ? runEnd({ status, exit: view.exit }) : undefined
    const lastLine = lastLineOf(view)
    const input = inputOf(tape, view)
    return {
      id,
      path: file,
      name: view.name,
      ...(branch && run.parent && { branch: { kind: branch.kind, parent: run.parent.run } }),
      ...(imported && { imported: imported.from }),
      startedAt: view.startedAt,
      status,
      ...(isCutOff(tape) && { cutOff: true }),
      steps: view.recordedSteps.length,
      durationMs: view.durationMs,
      ...modelsOf(view),
      ...(input !== undefined && { input: cutLine(input) }),
      ...(failure !== undefined && { failure: cutLine(failure) }),
      ...(lastLine !== undefined && { lastLine: cutLine(lastLine) }),
      ...(tags && { tags }),
    }
  } catch (error) {
    // An unreadable tape must not hide the others.
    return {
      id,
      path: file,
      error: explain(error) ?? explain(tapeErrors.TAPE_UNREADABLE(file, error)),
    }
  }
}

/** Tags may have changed since the recording. */
function withChangedTags(summary: RunSummary): RunSummary {
  if ('error' in summary) return summary
  const changed = attempt(() => changedTags(summary.path))
  if (changed === undefined) return summary
  const { tags: _, ...rest } = summary
  return { ...rest, ...changed }
}

/** The row of a run. Reads the tape only if it has changed. */
export function indexedSummary(
  store: RunStore,
  id: string,
  { isTagged }: { readonly isTagged: boolean },
): RunSummary {
  const file = store.pathOf(id)
  let unreadable: RunSummary | undefined
  const row = store.index.rowOf(id, () => {
    const read = readSummary(id, file)
    if ('error' in read) unreadable = read
    const { path: _, ...summary } = read
    const isFinal = 'status' in read && read.status !== 'recording' && !isBeingWritten(file)
    return { row: summary as StoredSummary, isFinal, ...(isFinal && ancestorsOf(store, read)) }
  })
  if (unreadable !== undefined) return unreadable
  const summary = { ...row, path: file }
  return isTagged ? withChangedTags(summary) : summary
}

/** Ancestors of a branch. Its row depends on their tapes. */
function ancestorsOf(
  store: RunStore,
  { branch }: { readonly branch?: { readonly parent: string } },
): { readonly ancestors?: readonly string[] } {
  if (branch === undefined) return {}
  const ancestors: string[] = []
  let parent: string | undefined = branch.parent
  while (parent !== undefined && !ancestors.includes(parent)) {
    ancestors.push(parent)
    parent = openOwnTape(store.pathOf(parent)).run.parent?.run
  }
  return { ancestors }
}

const SAVED_EVERY = 2000

/** Rows of all runs, newest first, read lazily. Call `index.save` afterwards. */
export function* summarizeRuns(store: RunStore): Generator<RunSummary> {
  const names = store.fileNames()
  const tagged = new Set(names.filter((name) => name.endsWith('.tags')))
  const ids = store.unsortedIds(names)
  const all = new Set(ids)
  let count = 0
  try {
    for (const id of store.newestFirst(ids)) {
      // An interrupted listing keeps what it has read.
      if (++count % SAVED_EVERY === 0) store.index.save(all)
      const isTagged = tagged.has(path.basename(tagsFileOf(store.pathOf(id))))
      const row = indexedSummary(store, id, { isTagged })
      // Another process may have removed the run.
      if ('error' in row && row.error.code === 'TAPE_MISSING') continue
      yield row
    }
  } finally {
    store.index.save(all)
  }
}

function modelsOf(view: RunView): Pick<LocalRunRow, 'costUsd' | 'models' | 'tokens'> {
  const { modelCalls, costUsd } = view.totals
  if (modelCalls === 0) return {}
  const models = new Set(view.recordedSteps.flatMap(({ model }) => model ?? []))
  const { input, cachedInput, cacheWrite, output } = view.totals.usage
  return {
    ...(costUsd !== undefined && { costUsd }),
    models: [...models],
    tokens: input + cachedInput + cacheWrite + output,
  }
}

/** Input of a run as text, or else its first prompt. */
function inputOf({ details }: Tape, view: RunView): string | undefined {
  const { input, args = [], command } = details
  if (input !== undefined) return inputText(input)
  if (args.length > 0) return args.join(' ')
  if (command !== undefined) return command.join(' ')
  const first = view.recordedSteps.find(({ kind }) => kind === 'model')
  const prompt = first?.messages().findLast(({ role }) => role === 'user')
  return prompt && messageText(prompt)
}

/** The recorded input of a function run: text unchanged, everything else as JSON. */
export function inputText(wire: unknown): string {
  const plain = plainJson(wire)
  return typeof plain === 'string' ? plain : (JSON.stringify(plain) ?? '')
}

const LINE_MAX = 200
const cutLine = (text: string): string => {
  const line = text
    .slice(0, 4 * LINE_MAX)
    .replaceAll(/\s+/g, ' ')
    .trim()
  return line.length > LINE_MAX ? `${line.slice(0, LINE_MAX)}…` : line
}

/** Considers both streams. Ignores lines without a letter or digit. */
function lastLineOf(view: RunView): string | undefined {
  let text = ''
  for (const event of view.outputs.toReversed()) {
    text = Buffer.from(view.outputBytes(event)).toString() + text
    const line = text.split('\n').findLast((each) => /[\p{L}\p{N}]/u.test(each))
    const isWhole = text.trimEnd().includes('\n') || event === view.outputs[0]
    if (line !== undefined && (isWhole || text.length > LINE_MAX)) return line
  }
  return undefined
}

/** The state of a run and its tape, as all commands show it. */
export const statusOf = (view: RunView, tape: Tape): RunStatus =>
  runStatus(view, {
    isCutOff: isCutOff(tape),
    damage: tape.damage,
    isRecording: () => isRecording(tape.path, tape.run.scope),
  })

/** `cut off`: all events are valid, but the end is missing. `recording`: it is being written. */
export type IntegritySummary = 'intact' | 'cut off' | 'recording' | 'damaged'

export function checkTape(tape: Tape): {
  readonly integrity: IntegritySummary
  /** One line: the problem, or how much was checked. */
  readonly detail: string
  readonly events: number
  /** Identifies the run. Recomputed, not read from the tape. */
  readonly digest: string
  readonly signature: SignatureState
  /** Set if the tape was not synced while it was written. */
  readonly durability?: Durability
} {
  const { count: events, digest, problem, signature } = tape.verify()
  const { durability } = tape.run
  const common = { events, digest, signature, ...(durability && { durability }) }
  if (problem !== undefined)
    return { ...common, integrity: 'damaged', detail: `event ${problem.seq}: ${problem.message}` }
  if (tape.isComplete) return { ...common, integrity: 'intact', detail: plural(events, 'event') }
  if (isBeingWritten(tape.path))
    return { ...common, integrity: 'recording', detail: `${plural(events, 'event')} so far` }
  const missing =
    tape.status === 'sealed' ? 'the index after its seal is incomplete' : 'it has no seal'
  const unsynced =
    durability === 'process'
      ? '; not synced (durability process): a power cut may have lost more of it'
      : ''
  return {
    ...common,
    integrity: 'cut off',
    detail: `${plural(events, 'event')}, then ${missing}${unsynced}`,
  }
}
