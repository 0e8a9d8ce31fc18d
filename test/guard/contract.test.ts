import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type } from 'arktype'
import { guard, GuardError } from 'retake'
import type { Contract, GuardedToolOptions, GuardResult, Schema } from '@retake/guard'
import * as v from 'valibot'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { run } from '../support/run-retake.mjs'

const repository = fileURLToPath(new URL('../..', import.meta.url))

let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'retake-contract-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** Calls one tool once; `started` holds what the tool was given. */
async function call(
  options: GuardedToolOptions<unknown>,
  args: unknown,
  returns: (args: unknown) => unknown = (given) => given,
): Promise<GuardResult & { readonly started: readonly unknown[] }> {
  const gate = guard({ name: 'contract', dir, durability: 'process' })
  const started: unknown[] = []
  gate.tool(
    'refund',
    (given: unknown) => {
      started.push(given)
      return returns(given)
    },
    options,
  )
  const result = await gate.call('refund', args)
  gate.end()
  return { ...result, started }
}

const returning = (output: Schema | Contract, value: unknown) => call({ output }, {}, () => value)

/** The same form in four languages. */
const schemas: Record<string, Schema> = {
  zod: z.object({
    to: z.string(),
    amount: z.number(),
    items: z.array(z.object({ sku: z.string() })),
  }),
  valibot: v.object({
    to: v.string(),
    amount: v.number(),
    items: v.array(v.object({ sku: v.string() })),
  }),
  arktype: type({ to: 'string', amount: 'number', items: [{ sku: 'string' }, '[]'] }) as Schema,
  'zod, asynchronous': z
    .object({ to: z.string(), amount: z.number(), items: z.array(z.object({ sku: z.string() })) })
    .refine(async () => await Promise.resolve(true)),
  'JSON Schema': {
    type: 'object',
    properties: {
      to: { type: 'string' },
      amount: { type: 'number' },
      items: {
        type: 'array',
        items: { type: 'object', properties: { sku: { type: 'string' } }, required: ['sku'] },
      },
    },
    required: ['to', 'amount', 'items'],
  },
}
const good = { to: 'ann', amount: 3, items: [{ sku: 'a' }] }

describe.each(Object.entries(schemas))('%s', (_, schema) => {
  test('valid arguments reach the tool', async () => {
    const { status, output, started } = await call({ input: schema }, good)
    expect({ status, output, started }).toEqual({ status: 'done', output: good, started: [good] })
  })

  test('invalid arguments are denied with paths and schema, and the tool never starts', async () => {
    const bad = { to: 'ann', items: [{ sku: 'a' }, { sku: 7 }] }
    const { status, error, intent, started } = await call({ input: schema }, bad)
    expect(started).toEqual([])
    expect(status).toBe('denied')
    expect(error).toBeInstanceOf(GuardError)
    expect(error).toMatchObject({ code: 'INPUT_INVALID', rule: 'contract/input' })
    const { why, allowed } = error as GuardError
    expect(why).toMatch(/amount: /)
    expect(why).toMatch(/items\[1\]\.sku: /)
    expect(allowed).toMatch(/\bto: string\b/)
    expect(allowed).toMatch(/\bamount: number\b/)
    expect(intent).toMatchObject({ verdict: 'deny', code: 'INPUT_INVALID', why, allowed })
  })

  test('a result with a missing field and a wrong type is reported with both', async () => {
    const { status, drift, output, error } = await returning(schema, {
      to: 5,
      items: [{ sku: 'a' }, { sku: null }],
    })
    expect(status).toBe('failed')
    expect(output).toBeUndefined()
    expect(error).toMatchObject({ code: 'CONTRACT_DRIFT' })
    expect(drift.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
      { code: 'MISSING_FIELD', path: 'amount', expected: expect.any(String), found: 'nothing' },
      { code: 'TYPE_CHANGED', path: 'items[1].sku', expected: 'string', found: 'null' },
      { code: 'TYPE_CHANGED', path: 'to', expected: 'string', found: 'number' },
    ])
  })

  test('text instead of promised data is parsed as JSON, or reported', async () => {
    const asText = await returning(schema, JSON.stringify(good))
    expect(asText).toMatchObject({ status: 'done', output: good, drift: [] })
    const words = await returning(schema, 'I am sorry, I cannot do that.')
    expect(words.drift.map(({ code }) => code)).toEqual(['TEXT_WHERE_JSON'])
    const torn = await returning(schema, JSON.stringify(good).slice(0, -5))
    expect(torn.drift.map(({ code }) => code)).toEqual(['INVALID_JSON'])
  })
})

describe('the value that a schema returns', () => {
  test('is what the tool gets, what is judged, fingerprinted and stored', async () => {
    const gate = guard({
      name: 'contract',
      dir,
      policy: { name: 'shop', rules: [{ id: 'eur', allow: 'refund' }], default: 'deny' },
    })
    const seen: unknown[] = []
    const input = z.object({
      amount: z.coerce.number(),
      currency: z.string().default('EUR'),
    })
    gate.tool('refund', (args: unknown) => seen.push(args), { input })
    const text = await gate.call('refund', { amount: '5', spy: 'x' })
    const number = await gate.call('refund', { currency: 'EUR', amount: 5 })
    expect(seen).toEqual([
      { amount: 5, currency: 'EUR' },
      { amount: 5, currency: 'EUR' },
    ])
    expect(number.step.fingerprint).toBe(text.step.fingerprint)
    expect(number.step.occurrence).toBe(2)
  })

  test('is the checked value, also if the arguments change with each read', async () => {
    const shifty = (first: unknown, later: unknown): unknown => {
      let asked = 0
      return {
        get amount() {
          asked += 1
          return asked === 1 ? first : later
        },
      }
    }
    const json = { type: 'object', properties: { amount: { type: 'number', maximum: 10 } } }
    const ark = type({ amount: 'number <= 10' }) as Schema
    for (const input of [json, ark]) {
      const { status, started } = await call({ input }, shifty(5, 5000))
      expect({ status, started }).toEqual({ status: 'done', started: [{ amount: 5 }] })
    }
  })

  test('does not change results: fields that a schema does not know stay', async () => {
    const result = await returning(z.object({ a: z.number() }), { a: 1, b: 2 })
    expect(result.output).toEqual({ a: 1, b: 2 })
  })
})

describe('a schema that cannot be used', () => {
  test('accepts nothing when it throws', async () => {
    const input = z.object({}).refine(() => {
      throw new Error('database is down')
    })
    const { status, error, started } = await call({ input }, {})
    expect({ status, started }).toEqual({ status: 'denied', started: [] })
    expect((error as GuardError).why).toContain('database is down')
  })

  test.each([
    [{ $ref: '#/$defs/none' }, /leads nowhere/],
    [
      { items: { $ref: 'https://schemas.example/item.json' } },
      /item\.json at #\/items leads nowhere/,
    ],
    [{ $ref: '#none' }, /leads nowhere/],
    [{ $ref: '#/$defs/a', $defs: { a: { $ref: '#' } } }, /leads back to itself/],
    [{ type: 'objct' }, /"objct" at # is not a type/],
    [{ properties: { a: { pattern: '(' } } }, /pattern at #\/properties\/a/],
  ])('is refused before the tool starts, as input and as output: %o', async (schema, why) => {
    for (const options of [{ input: schema }, { output: schema }]) {
      const { status, started, error } = await call(options, {})
      expect({ status, started }).toEqual({ status: 'denied', started: [] })
      expect(error).toMatchObject({
        code: 'JSON_SCHEMA_UNUSABLE',
        why: expect.stringMatching(why),
      })
    }
  })

  test('a frozen schema works and is not changed', async () => {
    const item = Object.freeze({ $ref: '#/$defs/number' })
    const $defs = Object.freeze({ number: Object.freeze({ $anchor: 'n', type: 'number' }) })
    const input = Object.freeze({
      properties: Object.freeze({ a: item, b: { $ref: '#n' } }),
      $defs,
    })
    expect((await call({ input }, { a: 1, b: 2 })).status).toBe('done')
    expect((await call({ input }, { a: 1, b: 'x' })).status).toBe('denied')
  })

  test('fields may be called like keywords', async () => {
    const input = {
      type: 'object',
      properties: { type: { type: 'string' }, pattern: { enum: ['('] }, $ref: {} },
      definitions: { a: { type: ['string', 'null'] } },
    }
    const { status } = await call({ input }, { type: 'x', pattern: '(' })
    expect(status).toBe('done')
  })

  test('examples and unknown keywords are not read as schemas', async () => {
    const input = {
      properties: { a: { type: 'number', examples: [{ $ref: 'https://schemas.example/a' }] } },
      example: { $ref: 'nowhere' },
      'x-form': { a: { $ref: 'widgets/number' } },
    }
    expect((await call({ input }, { a: 1 })).status).toBe('done')
    expect((await call({ input }, { a: 'x' })).status).toBe('denied')
  })

  test.each([
    ['a kind that is none', { kind: 'jason' }],
    ['a misspelt field', { kind: 'json', onDrft: 'warn' }],
    ['an onDrift that is none', { kind: 'json', onDrift: 'ignore' }],
  ])('is refused before the tool starts: %s', async (_, output) => {
    const { started, error } = await call({ output: output as unknown as Contract }, {})
    expect(started).toEqual([])
    expect(error).toMatchObject({ code: 'CONTRACT_INVALID' })
  })
})

describe('kinds', () => {
  const values = {
    json: { a: 1 },
    text: 'plain words',
    binary: new Uint8Array([1, 2]),
    nothing: undefined,
  }
  for (const kind of ['json', 'text', 'binary', 'nothing'] as const) {
    test(`${kind} is what it says`, async () => {
      expect(await returning({ kind }, values[kind])).toMatchObject({ status: 'done', drift: [] })
    })
    for (const other of ['json', 'text', 'binary', 'nothing'] as const) {
      if (other === kind) continue
      test(`${other} where ${kind} is promised is named`, async () => {
        const { status, drift } = await returning({ kind }, values[other])
        expect(status).toBe('failed')
        const code = kind === 'json' && other === 'text' ? 'TEXT_WHERE_JSON' : 'KIND_CHANGED'
        expect(drift).toEqual([{ code, path: '', expected: kind, found: other }])
      })
    }
  }

  test.each([
    [{ when: new Date(0) }, 'when', 'date'],
    [{ list: [1, { big: 10n }] }, 'list[1].big', 'bigint'],
    [new Map([['a', 1]]), '', 'map'],
    [Number.NaN, '', 'NaN'],
  ])('a value that JSON cannot represent is not JSON: %o', async (value, path, found) => {
    const { drift } = await returning({ kind: 'json' }, value)
    expect(drift).toEqual([{ code: 'KIND_CHANGED', path, expected: 'json', found }])
  })
})

describe('JSON in a text', () => {
  test('is passed on parsed', async () => {
    const { output } = await returning({ kind: 'json' }, ' [1, {"a": null}]\n')
    expect(output).toEqual([1, { a: null }])
  })

  test.each([
    ['```json\n{"a": 1}\n```', 'INVALID_JSON', /code fence/],
    ['{"a": [1, 2', 'INVALID_JSON', /cut off at character 11/],
    ['{"a": "long te', 'INVALID_JSON', /cut off/],
    ['{"a": tru', 'INVALID_JSON', /cut off/],
    ['{"a": 1,}', 'INVALID_JSON', /broken at character 8/],
    ['[1, 2, ]', 'INVALID_JSON', /broken/],
    ['{"a": "x, }", }', 'INVALID_JSON', /broken at character 14/],
    ["{'a': 1}", 'INVALID_JSON', /broken at character 1/],
    ['{a: 1}', 'INVALID_JSON', /broken at character 1/],
    ['{"a": NaN}', 'INVALID_JSON', /broken/],
    ['{"a": None}', 'INVALID_JSON', /broken/],
    ['{"a": 1} // done', 'INVALID_JSON', /broken at character 9/],
    ['{"a": 1 "b": 2}', 'INVALID_JSON', /broken at character 8/],
    ['\uFEFF{"a": 1}', 'INVALID_JSON', /byte order mark/],
    ['Here you are: {"a": 1}', 'TEXT_WHERE_JSON', /JSON from character 14/],
    ['', 'TEXT_WHERE_JSON', /empty/],
    ['No.', 'TEXT_WHERE_JSON', /^text$/],
  ])('that is broken says how: %s', async (text, code, found) => {
    const { drift, error } = await returning({ kind: 'json' }, text)
    expect(drift).toEqual([
      { code, path: '', expected: 'json', found: expect.stringMatching(found) },
    ])
    expect((error as GuardError).why).toContain(code)
  })
})

test('adversarial texts are parsed quickly', async () => {
  const nasty = [
    `{"a": "${'\\\\'.repeat(200_000)}" x`,
    `{"a": "${'\\'.repeat(200_001)}`,
    '['.repeat(200_000),
    `{${' '.repeat(400_000)}x`,
    `{"a": "${'x'.repeat(2_000_000)}`,
  ]
  for (const text of nasty) {
    const { drift } = await returning({ kind: 'json' }, text)
    expect(drift).toMatchObject([{ code: 'INVALID_JSON' }])
  }
})

describe('a broken promise', () => {
  test('is recorded and passed on with warn', async () => {
    const schema = z.object({ a: z.number() })
    const result = await returning({ schema, onDrift: 'warn' }, { a: '1' })
    expect(result).toMatchObject({ status: 'done', output: { a: '1' }, error: undefined })
    expect(result.facts.drift).toEqual([
      { code: 'TYPE_CHANGED', path: 'a', expected: 'number', found: 'string' },
    ])
  })

  test('that is neither missing nor of another type is a broken schema', async () => {
    const text = await returning(z.string().email(), 'no address')
    expect(text.drift).toMatchObject([{ code: 'SCHEMA_BROKEN', path: '' }])
    const number = await returning({ kind: 'json', schema: z.object({ n: z.int() }) }, { n: 1.5 })
    expect(number.drift).toMatchObject([{ code: 'SCHEMA_BROKEN', path: 'n', found: '1.5' }])
    const extra = await returning(
      { type: 'object', properties: { a: {} }, additionalProperties: false },
      { b: 1 },
    )
    expect(extra.drift).toMatchObject([{ code: 'SCHEMA_BROKEN', path: 'b' }])
  })

  test.each([
    ['zod', z.object({ n: z.union([z.string(), z.number()]) }), 'string | number'],
    ['zod, nullable', z.object({ n: z.number().nullable() }), 'number'],
    ['valibot', v.object({ n: v.union([v.string(), v.number()]) }), 'string | number'],
    ['arktype', type({ n: 'string | number' }) as Schema, 'number | string'],
    ['JSON Schema', { properties: { n: { type: ['string', 'number'] } } }, 'string | number'],
  ])('with alternatives names them: %s', async (_, schema, expected) => {
    const { drift } = await returning(schema, { n: true })
    expect(drift).toEqual([{ code: 'TYPE_CHANGED', path: 'n', expected, found: 'boolean' }])
  })

  test('does not quote the result', async () => {
    const { drift, error } = await returning(v.object({ a: v.pipe(v.string(), v.maxLength(3)) }), {
      a: 'confidential',
    })
    expect(JSON.stringify([drift, (error as Error).message])).not.toContain('confidential')
  })
})

test('a JSON Schema without a validator says what to do, and no tool starts', async () => {
  const program = `
    import { guard } from '@retake/guard'
    const run = guard({ name: 'bare', dir: process.argv[2], durability: 'process' })
    let started = 0
    for (const schema of ['input', 'output'])
      run.tool(schema, () => (started += 1), { [schema]: { type: 'object' } })
    const results = [await run.call('input', {}), await run.call('output', {})]
    console.log(JSON.stringify({ started, codes: results.map(({ error }) => error.code), fix: results[0].error.fix }))
    run.end()
  `
  const args = ['--input-type=module', '--eval', program, 'x', dir]
  const { code, stdout, stderr } = await run(process.execPath, args, repository)
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toEqual({
    started: 0,
    codes: ['JSON_SCHEMA_COMPILER_MISSING', 'JSON_SCHEMA_COMPILER_MISSING'],
    fix: expect.stringMatching(/from "retake".*useJsonSchema/),
  })
})

test('without output nothing is checked', async () => {
  const result = await call({}, {}, () => '{"a": 1,}')
  expect(result).toMatchObject({ status: 'done', output: '{"a": 1,}', drift: [] })
})

describe('a schema with catastrophic backtracking', () => {
  const text = `${'a'.repeat(5000)}!`
  const pattern = '^(a+)+$'

  test.each([
    ['a pattern', { type: 'string', pattern }],
    ['a pattern further in', { anyOf: [{ allOf: [{ pattern }] }, { type: 'number' }] }],
    ['a pattern behind a reference', { $ref: '#/$defs/a', $defs: { a: { pattern } } }],
    ['a pattern with lookahead', { pattern: `(?!b)${pattern.slice(1)}` }],
    ['names of properties', { patternProperties: { [pattern]: false }, type: 'object' }],
    ['zod', z.string().regex(new RegExp(pattern))],
    [
      'a function',
      z.string().refine((given) => {
        for (;;) if (given === '') return true
      }),
    ],
  ])('%s: is checked in bounded time, and refuses', async (_, input) => {
    const isNames = 'patternProperties' in input
    const began = performance.now()
    const given = isNames ? { [text]: 1 } : text
    const { status, started, error } = await call({ input: input as Schema }, given)
    expect({ status, started }).toEqual({ status: 'denied', started: [] })
    expect(error).toMatchObject({ code: 'INPUT_INVALID' })
    expect(performance.now() - began).toBeLessThan(5000)
  })

  test.each([
    ['^[a-z]{2,4}-\\d+$', 'ab-12', 'abcde-1'],
    ['^(a+)+$', 'aaa', 'aab'],
    ['\\p{Lu}', 'xÄ', 'xä'],
    ['^(?!b)a', 'ac', 'bc'],
    ['^(.)\\1$', 'aa', 'ab'],
  ])('the pattern %s keeps its meaning', async (each, fits, fails) => {
    const input = { type: 'object', properties: { a: { type: 'string', pattern: each } } }
    expect((await call({ input }, { a: fits })).status).toBe('done')
    const { status, error } = await call({ input }, { a: fails })
    expect(status).toBe('denied')
    expect((error as GuardError).why).toContain('does not match pattern')
  })

  test('asynchronous checks are given up, too', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const never = z.string().refine(() => new Promise<boolean>(() => {}))
    const calling = call({ input: never }, 'x')
    await vi.advanceTimersByTimeAsync(11_000)
    expect((await calling).status).toBe('denied')
  })
})

test('the schema of a result has the same scope as its tool', async () => {
  const secret = join(dir, 'secret')
  writeFileSync(secret, 'TOP SECRET')
  const seen: unknown[] = []
  const output = z.string().refine((file) => {
    seen.push(readFileSync(file, 'utf8'))
    return true
  })
  const policy = { name: 'inside', files: { read: [join(dir, 'work')], write: [] } }
  const gate = guard({ name: 'contract', dir: join(dir, 'tapes'), policy, durability: 'process' })
  gate.tool('find', () => secret, { output })
  expect((await gate.call('find', {})).status).toBe('failed')
  gate.end()
  expect(seen).toEqual([])
})
