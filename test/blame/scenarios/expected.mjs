import { summaryOf } from './lab.mjs'

/**
 * @typedef {object} Expected
 * @property {string} what
 * @property {readonly string[]} verdicts Verdicts that are right; the first one names the cause.
 * @property {readonly (readonly string[])[]} [causes] Steps, or kinds of ambient inputs, of each
 *   cause, if the verdict names one.
 * @property {readonly string[]} [echoes] Steps that may be named as repeating the cause; all others
 *   are innocent.
 * @property {readonly string[]} [ways] How the steps of the causes were answered: `field` shows that
 *   the run depends on them, and not that they were wrong.
 * @property {boolean} [isOffline] No request reaches the model while searching.
 * @property {boolean} [isSampled] Also runs before a merge.
 */

export const CANNOT_TELL = ['inconclusive', 'stopped']

/**
 * Each scenario with the cause that was planted, or an honest "cannot tell".
 *
 * @type {Readonly<Record<string, Expected>>}
 */
export const EXPECTED = {
  a1: { what: 'a clock that is read first', verdicts: ['attributed'], causes: [['clock']] },
  a2: {
    what: 'a clock that is read between two steps',
    verdicts: ['attributed'],
    causes: [['clock']],
    isSampled: true,
  },
  a3: { what: 'a clock that is read last', verdicts: ['attributed'], causes: [['clock']] },
  m: {
    what: 'a random value that picks the empty warehouse',
    verdicts: ['attributed', ...CANNOT_TELL],
    causes: [['random']],
    echoes: ['2', '3'],
  },
  b1: { what: 'a file that is still missing', verdicts: ['no attributable step'] },
  "b1'": {
    what: 'a file that was missing, and is back',
    verdicts: ['attributed'],
    causes: [['file']],
  },
  b2: {
    what: 'a file that a tool reads',
    verdicts: ['attributed'],
    causes: [['3']],
    echoes: ['4'],
  },
  c1: { what: 'a race in which the last answer wins', verdicts: ['race', ...CANNOT_TELL] },
  c2: {
    what: 'a race for the only reserve',
    verdicts: ['race'],
    isOffline: true,
    isSampled: true,
  },
  d: {
    what: 'a stale tool, with echoes',
    verdicts: ['attributed'],
    causes: [['3']],
    echoes: ['4', '6'],
  },
  p: {
    what: 'the same with a model that words everything differently',
    verdicts: ['attributed'],
    causes: [['3']],
    echoes: ['4', '6'],
  },
  e: {
    what: 'two mistakes that are needed together',
    verdicts: ['attributed'],
    causes: [['3', '5']],
  },
  f: { what: 'two mistakes, each enough', verdicts: ['attributed'], causes: [['3'], ['5']] },
  "f'": {
    what: 'two mistakes, each enough, that happen again with a chance of .3',
    verdicts: ['attributed', ...CANNOT_TELL],
    causes: [['3'], ['5']],
  },
  g: {
    what: 'an oracle that is wrong in one of five cases',
    verdicts: ['attributed', 'flaky', ...CANNOT_TELL],
    causes: [['3']],
    echoes: ['4', '6'],
  },
  h: { what: 'a run that passes', verdicts: ['passes'], isOffline: true },
  i: {
    what: 'a mistake that happens again with a chance of .3',
    verdicts: ['attributed', ...CANNOT_TELL],
    causes: [['3']],
  },
  k1: { what: 'a wrong system prompt', verdicts: ['no attributable step'] },
  k2: {
    what: 'a bug in the code, which another result of the tool would have hidden',
    verdicts: ['no attributable step', 'dependence'],
    causes: [['2']],
    ways: ['field'],
  },
  l: {
    what: 'an order id with two digits transposed',
    verdicts: ['attributed'],
    causes: [['3']],
    echoes: ['4', '6'],
  },
  n: {
    what: 'a tool that pays',
    verdicts: ['attributed', ...CANNOT_TELL],
    causes: [['2']],
    echoes: ['3', '4'],
  },
  o: {
    what: 'a stale file behind a tool',
    verdicts: ['attributed'],
    causes: [['3']],
    echoes: ['4'],
  },
  q: {
    what: 'a plain function as a tool',
    verdicts: ['dependence', 'attributed', 'no attributable step'],
    causes: [['1.1']],
    echoes: ['2'],
  },
  r: {
    what: 'an agent that fails in 7 of 10 cases anyway',
    verdicts: ['attributed', 'no attributable step', ...CANNOT_TELL],
    causes: [['2']],
    echoes: ['3'],
  },
  v1: {
    what: 'a variable that --env changes',
    verdicts: ['attributed'],
    causes: [['environment']],
    isSampled: true,
  },
  v2: {
    what: 'a variable that is not set now',
    verdicts: ['attributed'],
    causes: [['environment']],
  },
  v3: {
    what: 'a variable that has another value now',
    verdicts: ['attributed'],
    causes: [['environment']],
  },
  "v3'": { what: 'a variable that is as recorded', verdicts: ['no attributable step'] },
  v4: {
    what: 'a wrong model, and a variable that makes no difference',
    verdicts: ['attributed'],
    causes: [['2']],
  },
  "v4'": {
    what: 'a wrong model, and a variable that is not set now',
    verdicts: ['attributed'],
    causes: [['2']],
  },
  v5: {
    what: 'a wrong model and a variable that are needed together',
    verdicts: ['attributed', ...CANNOT_TELL],
    causes: [['2', 'environment']],
  },
  w1: {
    what: 'a number that a request answers as a text',
    verdicts: ['dependence'],
    causes: [['2']],
    ways: ['field'],
    isSampled: true,
  },
  w2: {
    what: 'a request that says that nothing is left',
    verdicts: ['dependence'],
    causes: [['2']],
    ways: ['field'],
  },
  w3: {
    what: 'a request with a stale answer',
    verdicts: ['attributed'],
    causes: [['2']],
    ways: ['live'],
  },
  w4: {
    what: 'a request with an effect, whose answer decides',
    verdicts: ['dependence'],
    causes: [['2']],
    ways: ['field'],
  },
  w5: { what: 'a bug that no answer of a request hides', verdicts: ['no attributable step'] },
  x1: {
    what: 'a mail in other words each time',
    verdicts: ['attributed', ...CANNOT_TELL],
    causes: [['2']],
    echoes: ['3'],
    isSampled: true,
  },
  x2: {
    what: 'a bank transfer with another amount and memo',
    verdicts: ['attributed', ...CANNOT_TELL],
    causes: [['2']],
    echoes: ['3'],
  },
  x3: {
    what: 'a transfer with a reworded memo, before the mistake',
    verdicts: ['attributed', ...CANNOT_TELL],
    causes: [['3']],
  },
  x4: {
    what: 'a lookup with a reworded query',
    verdicts: ['attributed', ...CANNOT_TELL],
    causes: [['2']],
    echoes: ['3', '4'],
  },
  y1: { what: 'a TypeError, with a model that rewords', verdicts: ['no attributable step'] },
  y2: { what: 'an index that is one too high', verdicts: ['no attributable step'] },
  y3: { what: 'words that are parsed as JSON', verdicts: ['no attributable step'] },
  y4: { what: 'a product with undefined', verdicts: ['no attributable step'] },
}

/**
 * Compares the findings of a search with what was planted. `mistakes`: everything that is wrong,
 * such as an innocent step or a payment; none if the search could not tell.
 *
 * @param {string} letter
 * @param {Awaited<ReturnType<typeof import('./lab.mjs').blameScenario>>} result
 */
export function judgeScenario(letter, result) {
  const expected = EXPECTED[letter]
  if (expected === undefined) throw new Error(`nothing is expected of ${letter}`)
  const { verdict, causes = [], echoes, ways = [], forks = 0, ...rest } = summaryOf(result)
  const isNamed = verdict === 'attributed' || verdict === 'dependence'
  const isTold = !CANNOT_TELL.includes(verdict)
  const mistakes = []
  if (!expected.verdicts.includes(verdict)) mistakes.push(`verdict ${verdict}`)
  // A race names the steps that overlap.
  const named = verdict === 'race' ? [] : causes
  const wanted = isNamed ? (expected.causes ?? []) : []
  if (JSON.stringify(named) !== JSON.stringify(wanted))
    mistakes.push(`causes ${JSON.stringify(named)} instead of ${JSON.stringify(wanted)}`)
  const wantedWays = (expected.ways ?? ways).join()
  if (isNamed && ways.join() !== wantedWays)
    mistakes.push(`answered by ${ways.join()} instead of ${wantedWays}`)
  const mayEcho = new Set(expected.echoes)
  const innocent = isNamed ? echoes.filter((label) => !mayEcho.has(label)) : []
  if (innocent.length > 0) mistakes.push(`innocent: ${innocent.join()}`)
  if (result.refunds > 0) mistakes.push(`${result.refunds} effects repeated`)
  if (expected.isOffline && result.requests > 0) mistakes.push(`${result.requests} requests sent`)
  const told = isTold ? 'right' : 'cannot tell'
  return {
    judgement: mistakes.length > 0 ? 'wrong' : told,
    verdict,
    causes,
    echoes,
    forks,
    mistakes,
    rest,
  }
}
