import { clipText, isDelivery, type RunView, type Tape, type TapeEvent } from '@retake/tape'
import { plural } from '@retake/tape/present'
import { fromHere, type Look, printable, wrap } from '../terminal/terminal.js'
import type { OutcomeDifference, Race, Races } from './find-races.js'

/** A delivery the way a person would say it: `the answer to step 3 (tool transfer)`. */
function deliveryName(tape: Tape, view: RunView, seq: number): string {
  if (seq >= tape.count) return 'the end of local work'
  const event = tape.event(seq)
  if (!isDelivery(event)) return `event ${seq}`
  // The messages of a server are steps after the one of its process.
  const step = view.recordedSteps.findLast(
    (one) => one.seq === event.op || one.answerSeqs.includes(seq),
  )
  const started = tape.event(event.op)
  if (step !== undefined) {
    return `${partOfAnswer(event)} step ${step.label} (${shortened(step.title)})`
  }
  if (started.type === 'timer')
    return started.kind === 'immediate' ? 'an immediate' : `the ${started.kind} of ${started.ms} ms`
  if (started.type === 'work') return `the end of ${started.name}`
  if (started.type === 'call') return `the answer to ${started.name}`
  if (started.type === 'socket') return `a part of a connection to ${started.host ?? started.path}`
  return `event ${seq}`
}

const TITLE_MAX = 40
const shortened = (title: string): string => clipText(title, TITLE_MAX)

function partOfAnswer(event: TapeEvent): string {
  if (event.type === 'response') return 'the start of the answer to'
  if (event.type !== 'deliver') return 'the answer to'
  return event.part === 'end' ? 'the end of the answer to' : 'a part of the answer to'
}

/** More lines of output than this are only counted. */
const SHOWN_MAX = 5

export interface RaceContext {
  readonly tape: Tape
  readonly view: RunView
  /** How the user named the run. */
  readonly name: string
  /** Ids of the tapes that were kept, by seed. */
  readonly kept: ReadonlyMap<number, string>
}

/** What other orders came to, for a person. */
export function raceLines(found: Races, context: RaceContext, look: Look): string[] {
  const { paint } = look
  const { tried, reordered, races, outputOrderChanges, unclear } = found
  const facts = [
    plural(tried, 'order'),
    ...(reordered < tried ? [`${reordered} of them other than recorded`] : []),
    '0 requests',
  ].join(' · ')
  const head =
    races.length > 0
      ? `${paint('red', plural(races.length, 'changed outcome'))} · ${facts}`
      : `${paint('green', 'no race found')} · ${facts}`
  return [
    head,
    ...races.flatMap((race) => ['', ...oneRace(race, context, look)]),
    ...keptLines(found, context),
    ...(outputOrderChanges > 0
      ? [
          '',
          `output order changes in ${plural(outputOrderChanges, 'order')}; the lines are the same`,
        ]
      : []),
    ...(unclear.length > 0 ? ['', ...unclearLines(found)] : []),
    ...(reordered === 0 && tried > 1 ? ['', 'nothing in this run happens at the same time'] : []),
  ]
}

/** Tapes that were asked for although nothing changed. */
function keptLines({ races }: Races, { kept }: RaceContext): string[] {
  const shown = new Set(races.map(({ order }) => order.seed))
  return [...kept]
    .filter(([seed]) => !shown.has(seed))
    .map(([seed, id]) => `kept ${id} · seed ${seed}`)
}

function oneRace(race: Race, { tape, view, name, kept }: RaceContext, look: Look): string[] {
  const { paint, width } = look
  const { seeds, decides, order } = race
  const [seed = 0] = seeds
  const id = kept.get(seed)
  const site = order.divergence?.site
  const why = decides && [
    `${deliveryName(tape, view, decides.chosen)} came before`,
    deliveryName(tape, view, decides.passed),
  ]
  return [
    `${paint('bold', plural(seeds.length, 'order'))} · smallest seed ${seed}`,
    ...race.differences.slice(0, SHOWN_MAX).flatMap((one) => differenceLines(one, look)),
    ...more(race.differences.length - SHOWN_MAX, 'difference'),
    ...(site === undefined ? [] : [`  at    ${paint('cyan', fromHere(site))}`]),
    ...(why
      ? wrap(printable(why.join(' ')), width - 8).map(
          (line, index) => `  ${index === 0 ? 'when ' : '     '} ${line}`,
        )
      : []),
    `  again retake chaos ${name} --seed ${seed}${id === undefined ? ' --keep' : ''}`,
    ...(id === undefined ? [] : [`  kept  ${id}`]),
  ]
}

function differenceLines(one: OutcomeDifference, { paint, width }: Look): string[] {
  const { what, recorded, now } = one
  if (what === 'asks') return ['  it asks for something else:', ...indented(now, width)]
  if (what === 'does not ask') return ['  it does not ask for:', ...indented(recorded, width)]
  if (what !== 'stdout') return [`  ${what}: ${printable(recorded)} → ${printable(now)}`]
  const side = (sign: '-' | '+', text: string): string[] => {
    const lines = text === '' ? [] : text.split('\n')
    return [
      ...lines
        .slice(0, SHOWN_MAX)
        .map((line) => `  ${paint(sign === '-' ? 'red' : 'green', `${sign} ${printable(line)}`)}`),
      ...more(lines.length - SHOWN_MAX, 'line'),
    ]
  }
  return ['  stdout:', ...side('-', recorded), ...side('+', now)]
}

const indented = (text: string, width: number): string[] =>
  wrap(printable(text), width - 4).map((line) => `    ${line}`)

const more = (count: number, word: string): string[] =>
  count > 0 ? [`  and ${plural(count, `more ${word}`)}`] : []

function unclearLines({ unclear }: Races): string[] {
  const what = unclear.flatMap(({ cutShort }) => cutShort.map((one) => one.what))
  return [
    `${plural(unclear.length, 'order')} could not be followed to the end; the tape has no rest of`,
    ...[...new Set(what)].slice(0, SHOWN_MAX).map((one) => `  ${printable(one)}`),
  ]
}
