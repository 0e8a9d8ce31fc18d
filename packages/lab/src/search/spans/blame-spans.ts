import {
  type BlameFindings,
  clipText,
  defined,
  type ForkCounts,
  type InputPart,
  type InputSpan,
  type SpanFindings,
} from '@retake/tape'
import { blameRun } from '../blame-run.js'
import { causeIndexes } from '../make-findings.js'
import type { Fork, ForkSource } from '../fork-source.js'
import type { BlameOptions } from '../search.js'
import { inGroups, isJsonText, jsonRanges, maskRequest, splitInput } from './split-input.js'
import { type Range, type RequestPart, type TextSpan } from './split-input.js'
import { type TextLocation, wholeSpans } from './split-input.js'

/** Sends a changed request to the model and continues the run with its answer. */
export type RunMasked = (request: unknown, draw: number) => Promise<Fork>

const RECORDED = 1
const MASKED = 0

const MAX_SPANS = 40

/**
 * Splits a text into pieces that can be masked separately: JSON fields, sentences, lines or
 * paragraphs, whichever is the smallest kind that gives few enough pieces.
 */
export function splitText(location: TextLocation, most = MAX_SPANS): TextSpan[] {
  return rangesOf(location.text, most).map((ranges) => ({ location, ranges }))
}

function rangesOf(text: string, most: number): readonly (readonly Range[])[] {
  if (isJsonText(text)) return jsonRanges(text, most)
  const lines = matchesOf(text, /[^\n]+/g)
  const sentences = lines.flatMap(({ start, end }) =>
    matchesOf(text.slice(start, end), SENTENCE, start),
  )
  if (sentences.length <= most) return sentences.map((range) => [range])
  if (lines.length <= most) return lines.map((range) => [range])
  // Groups of lines without an empty line between them.
  const paragraphs: Range[] = []
  for (const line of lines) {
    const last = paragraphs.at(-1)
    const isNext = last && !/\n\s*\n/.test(text.slice(last.end, line.start))
    if (isNext) paragraphs[paragraphs.length - 1] = { start: last.start, end: line.end }
    else paragraphs.push(line)
  }

  if (paragraphs.length <= most) return paragraphs.map((range) => [range])
  return inGroups(paragraphs, most)
}

/** Up to a full stop followed by a space, so that decimal numbers stay whole. */
const SENTENCE = /.*?(?:[.!?]+["'»”’)\]]*(?=\s|$)|[。！？]+)|.+$/g

/** Non-empty matches of a pattern, trimmed. */
function matchesOf(text: string, pattern: RegExp, offset = 0): Range[] {
  const ranges: Range[] = []
  for (const { 0: found, index } of text.matchAll(pattern)) {
    const trimmed = found.trim()
    if (trimmed === '') continue
    const start = offset + index + found.indexOf(trimmed[0]!)
    ranges.push({ start, end: start + trimmed.length })
  }
  return ranges
}

/** Findings about a part: its role, its cause, and the failure rate of that cause. */
type Finding = Pick<InputPart, 'role' | 'cause' | 'rate'>

const EXCERPT_LENGTH = 160

function inputSpan(span: TextSpan, part: RequestPart, finding: Finding): InputSpan {
  const { path, text } = span.location
  const start = span.ranges[0]!.start
  const end = span.ranges.at(-1)!.end
  const excerpt = excerptOf(text.slice(start, end))
  return { path, speaker: part.speaker, excerpt, ...finding, start, end }
}

function findingAt(found: BlameFindings, part: number): Finding {
  const { role, label } = found.steps[part]!
  const cause = found.causes.findIndex(({ steps }) => steps.includes(label))
  return cause === -1 ? { role } : { role, cause, rate: found.causes[cause]!.sufficiency }
}

const excerptOf = (text: string) =>
  clipText(
    text
      .slice(0, 4 * EXCERPT_LENGTH)
      .replace(/\s+/g, ' ')
      .trim(),
    EXCERPT_LENGTH,
  )

const NO_FORKS: ForkCounts = { asked: 0, served: 0, undefined: 0, liveSteps: 0 }

/** Limits that remain after these forks. Served forks cost nothing. */
function limitsLeft(
  { maxForks = Infinity, maxUsd = Infinity }: { maxForks?: number; maxUsd?: number },
  { asked, served, costUsd = 0 }: ForkCounts,
): { maxForks: number; maxUsd: number } {
  return {
    maxForks: Math.max(0, maxForks - (asked - served)),
    maxUsd: Math.max(0, maxUsd - costUsd),
  }
}

function sumKnown(some: number | undefined, more: number | undefined): number | undefined {
  return some === undefined && more === undefined ? undefined : (some ?? 0) + (more ?? 0)
}

export interface BlameSpansOptions extends Pick<
  BlameOptions,
  'errorRate' | 'maxForks' | 'maxUsd' | 'forkUsd' | 'signal' | 'seed' | 'onProgress'
> {
  /** Label of the step whose input is searched. */
  readonly step: string
  /** Maximum number of concurrent forks (default: 1). */
  readonly concurrency?: number
}

/**
 * Finds the parts of a model request that made the run fail: first messages and tool results, then
 * words in them. Applies the search for steps to a request with parts left out; `runMasked` sends
 * such a request and returns the outcome of the run.
 */
export async function blameSpans(
  request: unknown,
  runMasked: RunMasked,
  options: BlameSpansOptions,
): Promise<SpanFindings> {
  const parts = splitInput(request)
  if (parts.length > 0) return new SpanSearch(request, parts, runMasked, options).run()
  return {
    version: 1,
    step: options.step,
    verdict: 'no attributable step',
    why: 'The request of this step has no text that could be left out.',
    messages: [],
    spans: [],
    forks: NO_FORKS,
    notes: [],
  }
}

class SpanSearch {
  private forks: ForkCounts = NO_FORKS
  private readonly notes = new Set<string>()

  constructor(
    private readonly request: unknown,
    private readonly parts: readonly RequestPart[],
    private readonly runMasked: RunMasked,
    private readonly options: BlameSpansOptions,
  ) {}

  async run(): Promise<SpanFindings> {
    const { parts } = this
    const found = await this.search(
      parts.map(wholeSpans),
      [],
      parts.map(({ path }) => path),
    )
    for (const note of found.notes) this.notes.add(note)
    const spans: InputSpan[] = []
    if (found.verdict === 'attributed')
      for (const cause of found.causes.keys()) spans.push(...(await this.narrow(found, cause)))
    return {
      version: 1,
      step: this.options.step,
      verdict: found.verdict,
      ...(found.verdict === 'attributed' ? {} : { why: whyNot(found) }),
      messages: parts.map(({ path, speaker, locations }, index) => {
        const text = locations.map((location) => location.text).join(' ')
        return { path, speaker, excerpt: excerptOf(text), ...findingAt(found, index) }
      }),
      spans,
      forks: this.forks,
      notes: [...this.notes],
    }
  }

  /** The decisive words in the messages of a cause; all words if undecided. */
  private async narrow(found: BlameFindings, cause: number): Promise<InputSpan[]> {
    const steps = causeIndexes(found)[cause]!
    const owned = steps.flatMap((index) => {
      const part = this.parts[index]!
      return part.locations.flatMap((at) => splitText(at)).map((span) => ({ span, part, index }))
    })
    const whole = steps.flatMap((index) => {
      const part = this.parts[index]!
      return wholeSpans(part).map((span) => inputSpan(span, part, findingAt(found, index)))
    })
    // Every text is a single piece, so there is nothing left to test.
    if (owned.length === whole.length)
      return owned.map(({ span, part, index }) => inputSpan(span, part, findingAt(found, index)))
    const { maxForks, maxUsd } = limitsLeft(this.options, this.forks)
    if (maxForks <= 0 || maxUsd <= 0) return this.notNarrowed(whole, 'the limit was reached')
    // Leaves out other causes, because they would hide the effect of this one.
    const others = causeIndexes(found).flatMap((each, other) => (other === cause ? [] : each))
    const inside = await this.search(
      owned.map(({ span }) => [span]),
      others.flatMap((index) => wholeSpans(this.parts[index]!)),
    )
    if (inside.verdict !== 'attributed') return this.notNarrowed(whole, inside.verdict)
    return owned.flatMap(({ span, part, index }, at) => {
      const finding = findingAt(inside, at)
      if (finding.cause === undefined) return []
      const role = cause === 0 ? finding.role : findingAt(found, index).role
      return [inputSpan(span, part, { ...finding, role, cause })]
    })
  }

  private notNarrowed(whole: InputSpan[], why: string): InputSpan[] {
    const paths = whole.map(({ path }) => path).join(', ')
    this.notes.add(`The decisive words of ${paths} could not be determined: ${why}.`)
    return whole
  }

  private async search(
    parts: readonly (readonly TextSpan[])[],
    masked: readonly TextSpan[],
    labels?: readonly string[],
  ): Promise<BlameFindings> {
    const { request, runMasked, options, forks: before } = this
    const { concurrency = 1, onProgress, step: _, ...searchOptions } = options
    // Parts of a request are like steps of a run: pinned or masked.
    const source: ForkSource = {
      stepCount: parts.length,
      recorded: parts.map(() => RECORDED),
      ambient: [],
      concurrency,
      async fork({ pinned }, draw) {
        const isPinned = new Set(pinned)
        const free = parts.filter((_part, index) => !isPinned.has(index)).flat()
        const fork = await runMasked(maskRequest(request, [...masked, ...free]), draw)
        // A masked part never reappears by itself, so it cannot be an echo.
        const values = parts.map((_part, index) => (isPinned.has(index) ? RECORDED : MASKED))
        return { ...fork, values }
      },
    }
    const found = await blameRun(source, {
      ...searchOptions,
      ...limitsLeft(options, before),
      ...(labels ? { labels } : {}),
      onProgress: (progress) => onProgress?.({ ...progress, forks: before.asked + progress.forks }),
    })
    const { asked, served, undefined: undecided, liveSteps, tokens, costUsd } = found.forks
    this.forks = defined({
      asked: before.asked + asked,
      served: before.served + served,
      undefined: before.undefined + undecided,
      liveSteps: before.liveSteps + liveSteps,
      tokens: sumKnown(before.tokens, tokens),
      costUsd: sumKnown(before.costUsd, costUsd),
    })
    return found
  }
}

/** The search gives its reasons in terms of steps; this gives them in terms of input. */
function whyNot({ verdict, why, anchors: { pinned, free } }: BlameFindings): string {
  const rates =
    `sent as recorded, it failed in ${pinned.fails} of ${pinned.forks} forks, ` +
    `with all of its input left out in ${free.fails} of ${free.forks}`
  if (verdict === 'stopped') return `${why ?? 'It was stopped.'} Until then: ${rates}.`
  if (verdict === 'inconclusive') return `The rates are too close to decide: ${rates}.`
  if (pinned.fails === 0) return `The step does not fail when its request is sent again: ${rates}.`
  return `It does not depend on the input: ${rates}.`
}
