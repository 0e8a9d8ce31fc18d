import type { BlameFindings, ForkCounts, InputSpan, SpanFindings } from '@retake/tape'
import { blameRun, type BlameOptions } from '../blame-run.js'
import { limitsLeft, NO_FORKS, sumForks } from './fork-sums.js'
import { findingAt, inputPart, inputSpan } from './input-part.js'
import { spanSource, type AskMasked } from './span-source.js'
import { splitInput } from './split-input.js'
import { splitText } from './split-text.js'
import { wholeSpans, type RequestPart, type Span } from './text-place.js'

export interface SpanOptions extends Pick<
  BlameOptions,
  'errorRate' | 'maxForks' | 'maxUsd' | 'forkUsd' | 'signal' | 'seed' | 'onProgress'
> {
  /** What people call the step whose input is searched. */
  readonly step: string
  /** How many forks may be under way at once; 1 unless set. */
  readonly concurrency?: number
}

/**
 * Which parts of what a model was asked made the run fail: first which messages and results
 * of tools, then which words in those. It is the search for steps, put to a request in which
 * parts are left out; `ask` sends such a request and says how the run ended.
 */
export async function blameSpans(
  request: unknown,
  ask: AskMasked,
  options: SpanOptions,
): Promise<SpanFindings> {
  const parts = splitInput(request)
  if (parts.length === 0) return nothingToMask(options.step)
  return new SpanSearch(request, parts, ask, options).run()
}

class SpanSearch {
  private forks: ForkCounts = NO_FORKS
  private readonly notes = new Set<string>()

  constructor(
    private readonly request: unknown,
    private readonly parts: readonly RequestPart[],
    private readonly ask: AskMasked,
    private readonly options: SpanOptions,
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
      messages: parts.map((part, place) => inputPart(part, findingAt(found, place))),
      spans,
      forks: this.forks,
      notes: [...this.notes],
    }
  }

  /** The words in the messages of a cause that make it one; all of them where that cannot be told. */
  private async narrow(found: BlameFindings, cause: number): Promise<InputSpan[]> {
    const { steps } = found.causes[cause]!
    const owned = steps.flatMap((place) => {
      const part = this.parts[place]!
      return part.places.flatMap((at) => splitText(at)).map((span) => ({ span, part, place }))
    })
    const whole = steps.flatMap((place) => {
      const part = this.parts[place]!
      return wholeSpans(part).map((span) => inputSpan(span, part, findingAt(found, place)))
    })
    // Texts of one piece each: there is nothing more to ask.
    if (owned.length === whole.length)
      return owned.map(({ span, part, place }) => inputSpan(span, part, findingAt(found, place)))
    const { maxForks, maxUsd } = limitsLeft(this.options, this.forks)
    if (maxForks <= 0 || maxUsd <= 0) return this.notNarrowed(whole, 'the limit was reached')
    // What else would make it fail is left out, or it would hide what matters here.
    const others = found.causes.flatMap((each, other) => (other === cause ? [] : each.steps))
    const inside = await this.search(
      owned.map(({ span }) => [span]),
      others.flatMap((place) => wholeSpans(this.parts[place]!)),
    )
    if (inside.verdict !== 'attributed') return this.notNarrowed(whole, inside.verdict)
    return owned.flatMap(({ span, part, place }, at) => {
      const finding = findingAt(inside, at)
      if (finding.cause === undefined) return []
      const role = cause === 0 ? finding.role : findingAt(found, place).role
      return [inputSpan(span, part, { ...finding, role, cause })]
    })
  }

  private notNarrowed(whole: InputSpan[], why: string): InputSpan[] {
    const paths = whole.map(({ path }) => path).join(', ')
    this.notes.add(`Which words of ${paths} matter could not be told: ${why}.`)
    return whole
  }

  private async search(
    parts: readonly (readonly Span[])[],
    masked: readonly Span[],
    labels?: readonly string[],
  ): Promise<BlameFindings> {
    const { request, ask, options, forks: before } = this
    const { concurrency = 1, onProgress, step: _, ...searchOptions } = options
    const found = await blameRun(spanSource({ request, parts, masked, ask, concurrency }), {
      ...searchOptions,
      ...limitsLeft(options, before),
      ...(labels ? { labels } : {}),
      onProgress: (progress) => onProgress?.({ ...progress, forks: before.asked + progress.forks }),
    })
    this.forks = sumForks(before, found.forks)
    return found
  }
}

/** In words about input, where the search has words about steps. */
function whyNot({ verdict, why, anchors: { kept, free } }: BlameFindings): string {
  const rates =
    `asked as recorded it failed in ${kept.fails} of ${kept.forks} forks, ` +
    `with all of its input left out in ${free.fails} of ${free.forks}`
  if (verdict === 'stopped') return `${why ?? 'It was stopped.'} Until then: ${rates}.`
  if (verdict === 'inconclusive') return `That is too close to tell: ${rates}.`
  if (kept.fails === 0) return `The step does not fail when it is asked again: ${rates}.`
  return `It does not depend on the input: ${rates}.`
}

function nothingToMask(step: string): SpanFindings {
  return {
    version: 1,
    step,
    verdict: 'no attributable step',
    why: 'The request of this step has no text that could be left out.',
    messages: [],
    spans: [],
    forks: NO_FORKS,
    notes: [],
  }
}
