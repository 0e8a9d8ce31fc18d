import { expect, test } from 'vitest'
import { hasSandbox } from '../support/has-sandbox.js'
import { agent, block, projectWith, wrongWord } from './fix-project.js'

/** Looks up a word of the model. Only one of its two words is that of the model. */
const speller = wrongWord.replace(
  /if \(verdict[^]*/,
  `const words = { deny: 'denied', settle: 'paid' }
console.log('RESULT', words[verdict].trim())
`,
)
/** The same with an exit code, for which no rule has a change. */
const checker = speller.replace(/console[^]*/, (line) =>
  line.replace('.trim()', '').concat('if (!(verdict in words)) process.exitCode = 1\n'),
)
const SPELL = "const words = { deny: 'denied', settle: 'paid' }"
const PRINT = "console.log('RESULT', words[verdict].trim())"
const byModel = ['last', '--model', 'fixer', '--no-locate', '--yes']
const ORACLE = ['--oracle', 'not:stdout:/undefined/']

test('a fix that changes what a passing run prints breaks it, unless an oracle accepts the result', async (context) => {
  context.skip(!hasSandbox, 'there is no bubblewrap')
  const { fix, patches } = await projectWith(['7', '1'], checker)
  const other = block(SPELL, "const words = { deny: 'refused', pay: 'paid' }")
  patches.push(other)
  const broken = await fix(...byModel)
  expect(broken, broken.said).toMatchObject({
    code: 1,
    result: {
      status: 'not-fixed',
      fixes: [
        {
          verdict: {
            status: 'rejected',
            reason: 'It breaks 1 of 1 passing runs: “RESULT denied” becomes “RESULT refused”.',
          },
          evidence: { corpus: { identical: 0, same: 0, breaks: 1 } },
        },
      ],
    },
  })
  patches.push(other)
  const judged = await fix(...byModel, ...ORACLE)
  expect(judged, judged.said).toMatchObject({
    code: 7,
    result: {
      claim: 'this-run',
      fixes: [
        {
          evidence: {
            corpus: {
              same: 1,
              breaks: 0,
              changedOutput: { before: 'RESULT denied', after: 'RESULT refused' },
            },
          },
        },
      ],
    },
  })
}, 600_000)

test('a change that silences the failure is a workaround, and comes after one that loses nothing', async (context) => {
  context.skip(!hasSandbox, 'there is no bubblewrap')
  const { fix, retake, patches, prompts } = await projectWith(['1'], speller)
  const silencing = [
    block(PRINT, "console.log('RESULT', (words[verdict] ?? '').trim())"),
    block(PRINT, "console.log('RESULT', words[verdict]?.trim())"),
    block(PRINT, `try { ${PRINT} } catch {}`),
  ]
  patches.push(...silencing)
  const silenced = await retake('fix', ...byModel)
  expect(silenced, silenced.stderr).toMatchObject({
    code: 8,
    stdout: expect.stringMatching(
      /^workaround · Treat a missing `words\[verdict\]` as empty/,
    ) as string,
  })
  expect(silenced.stdout).toMatch(
    / {2}loses {4}a constant replaces a missing value at agent\.mjs:9/,
  )
  expect(silenced.stdout).toMatch(
    /printed before and now:\n {2}-\(ended with TypeError[^]*\n {2}\+RESULT/,
  )
  // The model is asked for another, and what is wrong with the first.
  expect(prompts).toHaveLength(3)
  expect(prompts[1]).toContain('A constant replaces a missing value at agent.mjs:9')

  patches.push(silencing[1] ?? '', block(SPELL, SPELL.replace('settle', 'pay')))
  const repaired = await fix(...byModel)
  expect(repaired, repaired.said).toMatchObject({ code: 7, result: { status: 'repaired' } })
  const [best, ...others] = repaired.result?.fixes ?? []
  expect(best).toMatchObject({ candidate: { author: 'model' }, verdict: { status: 'repairs' } })
  expect(new Set(others.map(({ verdict }) => verdict.status))).toEqual(new Set(['workaround']))
  const losses = others.map(({ evidence }) => evidence.losses.map(({ code }) => code))
  expect(losses).toContainEqual(['DEFAULT_ADDED', 'EMPTY_PRINTED'])
}, 600_000)

test('a model may not end the program, remove a check, write the result or change files that decide', async () => {
  const { fix, retake, patches, read } = await projectWith(['1'], wrongWord)
  const check = "if (verdict !== 'pays' && verdict !== 'deny') process.exitCode = 1"
  patches.push(
    block(check, ''),
    block(check, `${check}\nprocess.exit(0)`),
    block(check, "process.exitCode = verdict === 'none' ? 1 : 0"),
  )
  const ends = await fix(...byModel, '--oracle', 'exit:0', '--no-sandbox')
  expect(ends, ends.said).toMatchObject({ code: 1, result: { status: 'not-fixed' } })
  const refused = ends.result?.fixes ?? []
  expect(refused.map(({ evidence }) => evidence.fixed.trials)).toEqual([0, 0, 0])
  const codes = refused.map(({ verdict }) => verdict.refusals?.map(({ code }) => code).join() ?? '')
  expect(codes.toSorted((left, right) => left.localeCompare(right))).toEqual([
    'CHECK_REMOVED',
    'CHECK_REMOVED,EXIT_CODE_CHANGED',
    'EARLY_EXIT',
  ])

  patches.push(
    block("console.log('RESULT', verdict)", "console.log('RESULT', ['app', 'roved'].join(''))"),
    block('', '{}').replace('agent.mjs', 'retake.config.json'),
    block('', "test('passes', () => {})").replace('agent.mjs', 'test/agent.test.mjs'),
  )
  const writes = await retake(
    'fix',
    ...byModel,
    '--oracle',
    'stdout:/RESULT approved/',
    '--no-sandbox',
  )
  expect(writes, writes.stderr).toMatchObject({ code: 1 })
  const card = writes.stdout.replaceAll(/\s+/g, ' ')
  for (const why of [
    'It writes the expected result itself at agent.mjs:9:',
    'It changes retake.config.json, which decides what is right or may run.',
    'It changes test/agent.test.mjs, which decides what is right or may run.',
  ])
    expect(card).toContain(why)
  expect(read()).toBe(wrongWord)
}, 600_000)

test('the claim grows with the evidence: this run, this kind of run, proven', async () => {
  // Neither a value of the code nor words around JSON are changed in variants of the run.
  const { retake, next } = await projectWith([], agent.replace('process.argv[2]', "$& ?? '9'"))
  const wordy = 'So: { "verdict": "pay" }'
  next.push(wordy)
  await retake('record', 'agent.mjs')
  const alone = await retake('fix', 'last', '--no-ai')
  expect(alone, alone.stderr).toMatchObject({ code: 7 })
  expect(alone.stdout).toMatch(/^repairs this run · Accept JSON with a code fence/)
  expect(alone.stdout).toContain('  open     Whether it repairs other runs was not shown.')

  next.push(wordy)
  await retake('record', 'agent.mjs', '8')
  const kind = await retake('fix', 'last', '--no-ai')
  expect(kind, kind.stderr).toMatchObject({ code: 6 })
  expect(kind.stdout).toMatch(/^repairs this kind of run · /)
  expect(kind.stdout).toContain('  siblings 1 of 1 other failed runs pass')
  expect(kind.stdout).toContain('  open     No passing run was judged by an oracle.')

  await retake('record', 'agent.mjs', '1')
  next.push(wordy)
  await retake('record', 'agent.mjs', '8')
  const unjudged = await retake('fix', 'last', '--no-ai')
  expect(unjudged, unjudged.stdout).toMatchObject({ code: 6 })
  const proven = await retake('fix', 'last', '--no-ai', '--oracle', 'stdout:/RESULT (pay|deny)/')
  expect(proven, proven.stdout).toMatchObject({ code: 0 })
  expect(proven.stdout).toMatch(/^proven · /)
  expect(proven.stdout).not.toContain('  open     ')
}, 600_000)
