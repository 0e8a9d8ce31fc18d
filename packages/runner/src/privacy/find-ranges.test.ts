import { expect, test } from 'vitest'
import { findRanges } from './find-ranges.js'
import { BUILT_IN, readPatterns } from '@retake/engine/runs'

const found = (text: string, ...patterns: (string | RegExp)[]): string[] =>
  findRanges(text, readPatterns(patterns)).map(([start, end]) => text.slice(start, end))

test.each([
  ['email', 'write to ann.lee+x@mail.example.org, please', ['ann.lee+x@mail.example.org']],
  ['email', 'npm i @scope/name@1.2.3', []],
  ['phone', 'call +49 30 901820 or (555) 010-4477', ['+49 30 901820', '(555) 010-4477']],
  ['phone', 'at 2026-11-15T10:00:00 order 20261115', []],
  ['card', 'paid with 4111 1111 1111 1111.', ['4111 1111 1111 1111']],
  ['card', 'at 1763215222222 or 4111 1111 1111 1112', []],
  ['iban', 'to DE89 3704 0044 0532 0130 00', ['DE89 3704 0044 0532 0130 00']],
  ['iban', 'to DE88 3704 0044 0532 0130 00', []],
  ['ip', 'from 192.168.0.17:80, version 1.2.3', ['192.168.0.17']],
  ['id', 'SSN 219-09-9999, not 000-12-3456', ['219-09-9999']],
  ['id', 'DNI 12345678Z, not 12345678A', ['12345678Z']],
  ['id', 'NIR 1 84 12 76 451 089 46', ['1 84 12 76 451 089 46']],
  ['id', 'IdNr 86095742719, not 86095742718', ['86095742719']],
  ['id', 'BSN 111222333, order 111222334', ['111222333']],
  ['id', 'AB 12 34 56 C and RSSMRA85T10A562S', ['AB 12 34 56 C', 'RSSMRA85T10A562S']],
  ['id', '811228-9874 on 2026-11-17, phone 555-0100', ['811228-9874']],
  ['key', `use ${['s', 'k'].join('')}-${'a1'.repeat(12)} now`, [`-${'a1'.repeat(12)}`]],
])('%s finds in "%s" what it is meant for', (name, text, expected) => {
  expect(found(text, name)).toEqual(expected)
})

test('long texts without a match are read quickly', () => {
  const text = 'a.b-c+1 2 3 4 '.repeat(100_000)
  const start = performance.now()
  expect(findRanges(text, Object.values(BUILT_IN))).toEqual([])
  expect(performance.now() - start).toBeLessThan(3000)
})

test('an expression may be text, have flags, or be one', () => {
  expect(found('Acme acme', 'acme')).toEqual(['acme'])
  expect(found('Acme acme', '/acme/i')).toEqual(['Acme', 'acme'])
  expect(found('Acme acme', /Acme/)).toEqual(['Acme'])
})

test.each(['x*', '(', '/a/q', '/(?:)/'])('%s is refused', (pattern) => {
  expect(() => readPatterns([pattern])).toThrow(
    expect.objectContaining({ code: 'REDACT_PATTERN_INVALID' }) as Error,
  )
})

test('escaped values are found, in JSON, in JSON inside JSON, and in a URL', () => {
  const value = 'jörg@"q"\\x\n@home'
  const json = JSON.stringify(value).slice(1, -1)
  const ascii = json.replace('ö', '\\u00f6')
  const nested = JSON.stringify(JSON.stringify({ a: [value] }))
  const pattern = /jörg@"q"\\x\n@home/
  expect(found(json, pattern)).toEqual([json])
  expect(found(`["${ascii}"]`, pattern)).toEqual([ascii])
  expect(found(nested, pattern)).toEqual([JSON.stringify(json).slice(1, -1)])
  expect(found(`?q=${encodeURIComponent(value)}&b`, pattern)).toEqual([encodeURIComponent(value)])
})
