import { TapeError } from '@retake/tape'
import type { CapturedState, RunView, Tape } from '@retake/tape'
import { textDigest } from './message-digest.js'
import { LossyText } from './lossy-text.js'
import type { FileTouch, SearchHit, SearchProgress } from './run-parts.js'
import { StepSearch } from './search-step.js'
import { keysOf, TextMatcher } from './text-matcher.js'

/** Hits of a search, and milliseconds it works before it lets others work. */
const HITS_MAX = 500
const SLICE_MS = 10

export interface SearchedRun {
  readonly tape: Tape
  readonly view: RunView
  readonly files: () => readonly FileTouch[]
  readonly states: readonly CapturedState[]
}

/**
 * Searches everything that can be read of a run, ignoring case: steps in their order,
 * then the console, files and captured variables. Tool calls that are only seen in the
 * conversation are found there. Works for some ten milliseconds at a time; a single
 * very large step takes what it takes.
 */
export function* searchRun(run: SearchedRun, text: string): Generator<SearchProgress> {
  const total = run.view.recordedSteps.length
  let [searched, unread, count, since] = [0, 0, 0, performance.now()]
  let hits: SearchHit[] = []
  const search = new StepSearch(run.tape, new TextMatcher(text))
  if (text !== '') {
    for (const found of pieces(run, search, new TextMatcher(text))) {
      const room = HITS_MAX - count
      hits.push(...found.hits.slice(0, room))
      count += found.hits.length
      searched += found.isStep === true ? 1 : 0
      unread += found.isUnread === true ? 1 : 0
      if (count > HITS_MAX) break
      if (performance.now() - since < SLICE_MS) continue
      yield { hits, searched, total, done: false, cut: false }
      hits = []
      since = performance.now()
    }
  }
  const cut = count > HITS_MAX || search.isCut
  yield { hits, searched, total, done: true, cut, ...(unread > 0 && { unread }) }
}

/** Undefined where the tape is damaged: the rest of it can be searched all the same. */
function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof TapeError || error instanceof RangeError) return undefined
    throw error
  }
}

interface Piece {
  readonly hits: readonly SearchHit[]
  readonly isStep?: boolean
  readonly isUnread?: boolean
}

function* pieces(run: SearchedRun, search: StepSearch, matcher: TextMatcher): Generator<Piece> {
  const { tape, view, files, states } = run
  for (const step of view.recordedSteps) {
    const hits = ifReadable(() => search.hits(step))
    yield { hits: hits ?? [], isStep: true, isUnread: hits === undefined }
  }
  yield { hits: inExit(tape, view, matcher) }
  yield* inConsole(view, matcher)
  for (const { seq, step, path, call } of files()) {
    const found = matcher.find(path) ?? matcher.find(`${call} ${path}`)
    yield { hits: found ? [{ step, seq, field: 'file', ...found }] : [] }
  }
  yield* inStates(states, matcher)
}

/** The error that ended the run. */
function inExit(tape: Tape, { exit }: RunView, matcher: TextMatcher): SearchHit[] {
  const [found] = exit?.error === undefined ? [] : matcher.findIn(exit.error, keysOf('exit'), 1)
  return found === undefined
    ? []
    : [{ step: undefined, seq: tape.count - 1, field: 'error', ...found, path: '' }]
}

/** Text that was written in two parts is found in the second. */
function* inConsole(view: RunView, matcher: TextMatcher): Generator<Piece> {
  const streams = { stdout: new LossyText(), stderr: new LossyText() }
  const line = { stdout: '', stderr: '' }
  for (const output of view.outputs) {
    const { seq, stream } = output
    const { text } = streams[stream].read(view.outputBytes(output))
    const found = matcher.find(text) ?? matcher.find(line[stream] + text)
    yield { hits: found ? [{ step: undefined, seq, field: 'console', ...found }] : [] }
    // A match across both parts must end in the next one.
    line[stream] = found ? '' : (line[stream] + text).slice(-1000)
  }
}

/** A variable that stays as it is, is reported once. */
function* inStates(states: readonly CapturedState[], matcher: TextMatcher): Generator<Piece> {
  const seen = new Set<string>()
  for (const { step, seq, frames } of states) {
    const hits: SearchHit[] = []
    for (const [place, { name: owner, variables }] of frames.entries()) {
      for (const [index, { name, json }] of variables.entries()) {
        const path = keysOf('frames', place, 'variables', index, 'json')
        const found = [
          ...[matcher.find(name)].flatMap((hit) =>
            hit ? [{ ...hit, path: `frames.${place}.variables.${index}` }] : [],
          ),
          ...matcher.findIn(json, path, 5),
        ]
        const digest = found.length === 0 ? '' : textDigest(JSON.stringify([owner, name, json]))
        if (found.length === 0 || seen.has(digest)) continue
        seen.add(digest)
        hits.push(...found.map((hit) => ({ step, seq, field: 'state' as const, ...hit })))
      }
    }
    yield { hits }
  }
}
