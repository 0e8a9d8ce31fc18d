import type { CallEvent, NewEvent, RequestEvent, Tape } from '@retake/tape'
import type { DrawnValues } from '../answers/drawn-values.js'
import { bodySha, recordedSha } from '../body-sha.js'
import { compareInitiation } from '../signature.js'
import { QuestionTexts } from './question-texts.js'
import { pathOf, stepKey } from './recorded-step.js'
import type { Conversation, RecordedStep } from './recorded-step.js'
import type { StepCauses } from './step-causes.js'
import { StepOrder } from './step-order.js'

/** Something that the agent asks in a fork. */
export interface AskedStep {
  readonly event: NewEvent<RequestEvent | CallEvent>
  /** Masked, as it stands on a tape. */
  readonly body: Uint8Array
  /** The nearest recorded step that it follows from, as far as that is known. */
  readonly after: RecordedStep | undefined
  /** What it directly follows from is no step of the recording. */
  readonly isAfterOther: boolean
}

/** A recorded step and whether it was asked the same then. */
export interface Match {
  readonly step: RecordedStep
  readonly isSame: boolean
}

export interface MatcherOptions {
  /** What follows from what in the recording. */
  readonly causes: StepCauses
  readonly drawn: DrawnValues
  /** It was asked in the fork, and waits for its answer. */
  readonly isUnderWay: (step: RecordedStep) => boolean
}

/** Fewer bytes in common may be chance. */
const TELLING_BYTES = 8
/** A beginning that makes up this much of what candidates do not share tells more than their place. */
const TELLING_SHARE = 0.25

/**
 * Finds which recorded step something is that the agent asks in a changed run. Exact
 * questions are found wherever they are asked. For the others it is a judgement: a
 * conversation that begins alike is the same lane, then comes what followed from the
 * same step, then the earliest. No step is matched twice, and what goes on with a
 * lane whose recorded steps are all used matches nothing rather than another lane's.
 */
export class StepMatcher {
  readonly #byKey = new Map<string, RecordedStep[]>()
  readonly #order: StepOrder
  readonly #texts: QuestionTexts

  constructor(
    readonly tape: Tape,
    steps: readonly RecordedStep[],
    readonly options: MatcherOptions,
  ) {
    this.#order = new StepOrder(steps, options.causes, options.isUnderWay)
    this.#texts = new QuestionTexts(tape, options.drawn)
    for (const step of steps) {
      const bucket = this.#byKey.get(step.key)
      if (bucket === undefined) this.#byKey.set(step.key, [step])
      else bucket.push(step)
    }
  }

  /** Takes the recorded step that this is. */
  take(asked: AskedStep): Match | undefined {
    const same = this.#sameKind(asked)
    const unused = same.filter(({ used }) => !used)
    const identical = this.#identical(unused, asked)
    const found =
      identical.length > 0 ? this.#inLine(identical, asked) : this.#nearest(unused, same, asked)
    if (found === undefined) return undefined
    found.used = true
    return { step: found, isSame: identical.length > 0 }
  }

  /** A recorded step of the same kind, whatever became of it: its answer shows the form that answers have. */
  alike({ event, body }: Pick<AskedStep, 'event' | 'body'>): RecordedStep | undefined {
    const bucket = this.#byKey.get(stepKey(event, body)) ?? []
    const path = event.type === 'request' ? pathOf(event.url) : ''
    const answered = bucket.filter(({ parts }) => parts.length > 0)
    return (
      answered.find((one) => one.event.type === 'request' && pathOf(one.event.url) === path) ??
      answered[0]
    )
  }

  #sameKind({ event, body }: AskedStep): readonly RecordedStep[] {
    const bucket = this.#byKey.get(stepKey(event, body)) ?? []
    if (event.type !== 'request') return bucket
    const path = pathOf(event.url)
    return bucket.filter(
      (one) =>
        one.event.type === 'request' &&
        (pathOf(one.event.url) === path ||
          (event.site !== undefined && one.event.site === event.site)),
    )
  }

  // ── the same question ─────────────────────────────────────────────────────

  #identical(candidates: readonly RecordedStep[], { event, body }: AskedStep): RecordedStep[] {
    const sha = bodySha(body)
    const exact = candidates.filter(
      (one) =>
        recordedSha(this.tape, one.seq) === sha && compareInitiation(one.event, event).length === 0,
    )
    if (exact.length > 0) return exact
    const { drawn } = this.options
    const text = this.#texts.of(event, body)
    return candidates.filter(
      (one) =>
        this.#texts.ofStep(one) === text &&
        compareInitiation(one.event, event).every(({ recorded, current }) =>
          drawn.differsOnlyInDrawn(recorded, current),
        ),
    )
  }

  /** Of several that fit equally, the one that follows from the same step; else the earliest. */
  #inLine(candidates: readonly RecordedStep[], { after }: AskedStep): RecordedStep | undefined {
    const next = this.#order.nextOf(candidates, after)
    return next[0] ?? candidates.find((one) => !this.#order.isAhead(one)) ?? candidates[0]
  }

  // ── another question ──────────────────────────────────────────────────────

  #nearest(
    unused: readonly RecordedStep[],
    same: readonly RecordedStep[],
    asked: AskedStep,
  ): RecordedStep | undefined {
    const used = same.filter((one) => one.used)
    const text = this.#texts.of(asked.event, asked.body)
    const conversation = this.#texts.conversation(asked.body)
    const lead = (one: RecordedStep): number => this.#lead(one, conversation)
    const common = (one: RecordedStep): number => commonLength(this.#texts.ofStep(one), text)
    const goesOn = (one: RecordedStep): boolean =>
      conversation === undefined
        ? most(used, common) >= common(one) + TELLING_BYTES
        : most(used, lead) > lead(one)
    // It goes on with a lane whose recorded steps are all used, and not with this one's.
    const unlessElsewhere = (found: RecordedStep): RecordedStep | undefined =>
      this.#order.isOther(found, asked.after) && goesOn(found) ? undefined : found
    const { site } = asked.event
    const { causes } = this.options
    let candidates = prefer(
      unused,
      (one) => site !== undefined && (one.event.site === site || causes.isUnsure(one.seq)),
    )
    candidates = best(candidates, lead)
    const told = conversation === undefined ? this.#told(candidates, common) : undefined
    if (told !== undefined) return unlessElsewhere(told)
    const next = this.#order.nextOf(candidates, asked.after)
    const possible =
      next.length > 0
        ? next
        : this.#order.first(
            candidates.filter((one) => !this.#order.isAhead(one, asked.isAfterOther)),
          )
    const longest = best(possible, common)
    const [chosen] = longest
    const [first] = possible
    if (chosen === undefined || first === undefined) return undefined
    // Of what waits in between, nobody knows which comes first; the rest keeps its order.
    const isRace =
      (next.length > 0 && chosen.turn !== first.turn) || this.#areLanes(same, chosen, first)
    const telling = isRace ? 1 : TELLING_BYTES
    const found = common(chosen) >= common(first) + telling ? chosen : first
    return unlessElsewhere(found)
  }

  /** Whether two belong to conversations that went on side by side. */
  #areLanes(same: readonly RecordedStep[], one: RecordedStep, other: RecordedStep): boolean {
    const [a, b] = [one, other].map((step) => {
      const mark = this.#texts.conversationOf(step)?.task
      const lane = same.filter((each) => this.#texts.conversationOf(each)?.task === mark)
      return { mark, size: lane.length, from: lane[0]?.seq ?? 0, to: lane.at(-1)?.seq ?? 0 }
    })
    if (a?.mark === undefined || b?.mark === undefined || a.mark === b.mark) return false
    return a.size > 1 && b.size > 1 && a.from < b.to && b.from < a.to
  }

  /** The one whose question begins so much like this one that it can be no other. */
  #told(
    candidates: readonly RecordedStep[],
    common: (one: RecordedStep) => number,
  ): RecordedStep | undefined {
    const [first, second] = [...candidates]
      .map((one) => ({ one, length: common(one) }))
      .toSorted((a, b) => b.length - a.length)
    if (first === undefined || second === undefined) return undefined
    const more = first.length - second.length
    const rest = this.#texts.ofStep(first.one).length - second.length
    return more >= TELLING_BYTES && more >= rest * TELLING_SHARE ? first.one : undefined
  }

  #lead(one: RecordedStep, conversation: Conversation | undefined): number {
    if (conversation === undefined) return 0
    const { turns } = conversation
    const then = this.#texts.conversationOf(one)?.turns ?? []
    let length = 0
    while (length < turns.length && turns[length] === then[length]) length += 1
    return length
  }
}

const commonLength = (a: string, b: string): number => {
  const end = Math.min(a.length, b.length)
  let at = 0
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at += 1
  return at
}

const most = (steps: readonly RecordedStep[], rank: (one: RecordedStep) => number): number =>
  steps.reduce((sum, one) => Math.max(sum, rank(one)), 0)

const best = (
  steps: readonly RecordedStep[],
  rank: (one: RecordedStep) => number,
): readonly RecordedStep[] => {
  if (steps.length < 2) return steps
  const top = most(steps, rank)
  return steps.filter((one) => rank(one) === top)
}

/** Those that fit; all, if none does. */
const prefer = (
  steps: readonly RecordedStep[],
  fits: (one: RecordedStep) => boolean,
): readonly RecordedStep[] => {
  const found = steps.filter((one) => fits(one))
  return found.length > 0 ? found : steps
}
