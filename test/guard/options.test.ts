import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { guard, presets, type GuardOptions, type GuardRun } from 'retake'
import { guardTools as guardAiSdk } from 'retake/ai-sdk'
import { guardTools as guardLangChain } from 'retake/langchain'
import { guardTools as guardMcp } from 'retake/mcp'
import { guardTools as guardOpenAi } from 'retake/openai-agents'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ed25519 = generateKeyPairSync('ed25519')

const wrong = (text: string): unknown =>
  expect.objectContaining({
    code: 'GUARD_OPTIONS_INVALID',
    what: expect.stringContaining(text) as string,
  })

describe('a guard refuses meaningless options', () => {
  test.each<[options: unknown, text: string]>([
    [undefined, 'must be an object'],
    ['refunds', 'must be an object, not a string'],
    [{}, 'It needs a `name`.'],
    [{ name: 3 }, 'name: It must be a string, not a number.'],
    [{ name: 'x', polices: presets.readOnly() }, 'Did you mean policy?'],
    [{ name: 'x', limit: { calls: 1 } }, 'Did you mean limits?'],
    [{ name: 'x', durability: 'none' }, 'durability: It cannot be "none".'],
    [{ name: 'x', approval: 'viewer' }, "`approval: { ask: 'viewer' }`"],
    [{ name: 'x', approval: () => true }, '`approval: { ask: your function }`'],
    [{ name: 'x', approval: { ask: 'viewr' } }, 'approval.ask: It cannot be "viewr".'],
    [{ name: 'x', approval: { asks: 'viewer' } }, 'Did you mean ask?'],
    [{ name: 'x', resume: 3 }, 'resume: It must be true, or the id or path of a run'],
    [{ name: 'x', inDoubt: 'repeat' }, 'It must be one of fail, retry, skip.'],
    [{ name: 'x', onArgumentDrift: 'ask' }, 'onArgumentDrift: It must be an object'],
    [
      { name: 'x', onArgumentDrift: { over: 'a lot' } },
      'onArgumentDrift.over: It must be a number',
    ],
    [{ name: 'x', onArgumentDrift: { over: 9 } }, 'onArgumentDrift: It needs a `baseline`'],
    [{ name: 'x', dir: 3 }, 'dir: It must be a string'],
    [
      { name: 'x', approval: { breakGlass: { by: 'ann' } } },
      'approval.breakGlass: It needs `reason`.',
    ],
    [
      { name: 'x', approval: { expiresMs: Infinity } },
      'approval.expiresMs: An approval is valid for',
    ],
    [{ name: 'x', approval: { expiresMs: Number.NaN } }, 'It must be a number, not NaN.'],
    [{ name: 'x', signingKey: 'key' }, 'signingKey: It must be a private ed25519 key'],
    // The seal of such a key cannot be verified, and with it the whole tape.
    [{ name: 'x', signingKey: rsa.privateKey }, 'signingKey: It must be a private ed25519 key'],
    [{ name: 'x', signingKey: ed25519.publicKey }, 'signingKey: It must be a private ed25519 key'],
  ])('%j: %s', (options, text) => {
    expect(() => guard(options as GuardOptions)).toThrow(wrong(text) as Error)
  })
})

describe('a tool refuses meaningless options', () => {
  test.each<[options: object, text: string]>([
    [{ effect: ['write'] }, 'Did you mean effects?'],
    [{ effects: 'write' }, 'effects: It must be a list, not a string.'],
    [{ effects: ['writes'] }, 'Did you mean write?'],
    [{ retries: -1 }, 'retries: It must be at least 0'],
    [{ timeoutMs: '5s' }, 'timeoutMs: It must be a number'],
    [{ idempotent: 'yes' }, 'idempotent: It must be true or false'],
    [{ idempotencyKey: 'order' }, 'idempotencyKey: It must be a function'],
    [{ timeoutMs: 0 }, 'timeoutMs: It must be at least 1'],
    [{ reserve: 3 }, 'reserve: It must be an object'],
    [{ reserve: { cost: 3 } }, 'reserve.cost: Unknown key "cost".'],
    [{ reserve: { costUsd: -1 } }, 'reserve.costUsd: It must be at least 0'],
    [{ input: 'json' }, 'input: It must be a schema, not a string.'],
    [{ output: null }, 'output: It must be a schema, not null.'],
    [{ errors: 'ShopError' }, 'errors: It must be an object'],
  ])('%j: %s', (options, text) => {
    const run = guard({ name: 'x' })
    expect(() => run.tool('a', () => 1, options)).toThrow(wrong(text) as Error)
    expect(run.toolNames).toEqual([])
  })
})

test.each<[options: unknown, text: string]>([
  [{ throw: true }, 'Did you mean throws?'],
  [{ throws: 'yes' }, 'throws: It must be true or false'],
  [{ signal: {} }, 'signal: It must be an AbortSignal'],
  [null, 'The options of a call must be an object'],
])('a call refuses meaningless options: %j', async (options, text) => {
  const run = guard({ name: 'x', dir: mkdtempSync(path.join(tmpdir(), 'retake-')) })
  let isStarted = false
  run.tool('a', () => {
    isStarted = true
    return new Promise(() => {})
  })
  const { status, error } = await run.call('a', {}, options as never)
  expect([status, error, isStarted]).toEqual(['denied', wrong(text), false])
  run.end()
})

test.each<[guardTools: (run: never, tools: never) => unknown, text: string]>([
  [guardAiSdk, 'The second argument must be an object of tools, not undefined.'],
  [guardLangChain, 'The second argument must be a list of tools, not undefined.'],
  [guardOpenAi, 'The second argument must be a list of tools, not undefined.'],
  [guardMcp, 'The second argument must be a client, not undefined.'],
])('tools are passed after the guard, or none is guarded (%#)', (guardTools, text) => {
  const run = guard({ name: 'x' })
  const first = wrong(
    'The first argument must be a guard, made by guard(), not an object.',
  ) as Error
  expect(() => guardTools({ look: {} } as never, run as never)).toThrow(first)
  expect(() => guardTools(run as never, undefined as never)).toThrow(wrong(text) as Error)
})

test.each<[tool: unknown, code: string]>([
  [{ run: () => 1 }, 'GUARD_TOOL_WITHOUT_NAME'],
  [{ name: 'a', run: () => 1 }, 'GUARD_OPTIONS_INVALID'],
  [{ name: 'a', run: () => 1, options: { effects: ['writes'] } }, 'GUARD_OPTIONS_INVALID'],
])('a passed tool is validated like a registered one: %j', async (tool, code) => {
  const run = guard({ name: 'x', dir: mkdtempSync(path.join(tmpdir(), 'retake-')) })
  expect(await run.call(tool as never, {})).toMatchObject({ status: 'denied', error: { code } })
  expect((await run.call({ name: 'a', run: () => 1, options: {} }, {})).output).toBe(1)
  run.end()
})

test.each([
  [{ cost: 50 }, 'It has "cost" and none of inputTokens, outputTokens, costUsd.'],
  [{ inputTokens: -50 }, '"inputTokens" is not a number of at least 0.'],
  [{ costUsd: Number.NaN }, '"costUsd" is not a number of at least 0.'],
  [null, 'It is not an object.'],
])('spending that is not an amount is refused: %j', async (usage, why) => {
  const run = guard({ name: 'x', dir: mkdtempSync(path.join(tmpdir(), 'retake-')) })
  const refused = expect.objectContaining({ code: 'LIMIT_USAGE_INVALID', why }) as Error
  expect(() => run.spend(usage as never)).toThrow(refused)
  run.tool('a', (_, { use }) => use(usage as never))
  expect((await run.call('a', {})).error).toEqual(refused)
  run.tool('b', () => 1, { reserve: () => usage as never })
  expect((await run.call('b', {})).error).toMatchObject({ code: 'LIMIT_RESERVE_INVALID' })
  // Providers say more than is counted.
  run.spend({ inputTokens: 3, totalTokens: 3 } as never)
  expect(run.limiter.used.spent.tokens).toBe(3)
  run.end()
})

describe('a preset refuses options that it would ignore', () => {
  test.each<[title: string, make: () => unknown, text: string]>([
    ['sandbox()', () => presets.sandbox(undefined as never), 'It needs `root`.'],
    ['sandbox, misspelt', () => presets.sandbox({ rooot: '.' } as never), 'Did you mean root?'],
    ['network({})', () => presets.network({} as never), 'It needs `allow`.'],
    ['network({ hosts })', () => presets.network({ hosts: ['a.example'] } as never), '"hosts"'],
    ['readOnly({ write })', () => presets.readOnly({ write: ['.'] } as never), '"write"'],
    ['strict of a list', () => presets.strict(['search'] as never), 'not a list'],
    ['noShell({ allow })', () => presets.noShell({ allow: [] } as never), '"allow"'],
  ])('%s', (_, make, text) => {
    expect(make).toThrow(wrong(text) as Error)
  })
})

test.each<[policy: unknown, text: string]>([
  ['policy.yaml', 'await loadPolicy(file)'],
  [presets.readOnly, 'Call the preset'],
  [Promise.resolve([]), 'Wait for it'],
])('an invalid policy is refused with a suggestion: %s', (policy, text) => {
  expect(() => guard({ name: 'x', policy: policy as never })).toThrow(text)
})

test('a value that is not a function, or has no name, is not a tool', () => {
  const run: GuardRun = guard({ name: 'x' })
  const noTool = expect.objectContaining({ code: 'GUARD_TOOL_NOT_FUNCTION' }) as Error
  const noName = expect.objectContaining({ code: 'GUARD_TOOL_WITHOUT_NAME' }) as Error
  expect(() => run.tool('a', 3 as never)).toThrow(noTool)
  expect(() => run.tool((() => 1) as never, undefined as never)).toThrow(noName)
  expect(() => run.wrap(undefined as never)).toThrow(noTool)
})

test('tools have the types of their functions and schemas, and results of their status', async () => {
  const run = guard({ name: 'types', dir: mkdtempSync(path.join(tmpdir(), 'retake-types-')) })
  const input = z.object({ id: z.string(), times: z.coerce.number<string>() })
  const repeat = run.tool('repeat', ({ id, times }) => id.repeat(times), { input })
  const half = run.tool('half', async ({ of }: { of: number }) => of / 2)
  const data = run.tool('data', ({ a }: { a: number }) => a, { input: { type: 'object' } })
  expectTypeOf(repeat).toEqualTypeOf<(args: { id: string; times: string }) => Promise<string>>()
  expectTypeOf(half).toEqualTypeOf<(args: { of: number }) => Promise<number>>()
  expectTypeOf(data).toEqualTypeOf<(args: { a: number }) => Promise<number>>()
  const result = await run.call<number>('half', { of: 4 })
  expectTypeOf(result.output).toEqualTypeOf<number | undefined>()
  expectTypeOf(result.error).toBeUnknown()
  if (result.status === 'done') expectTypeOf(result.output).toEqualTypeOf<number>()
  else expectTypeOf(result.output).toEqualTypeOf<undefined>()
  expect([await repeat({ id: 'ab', times: '2' }), result.output]).toEqual(['abab', 2])
  run.end()
})
