import { printDescribed } from '@retake/engine/inspect'
import type { CapturedState } from '@retake/tape'
import { expect, test } from 'vitest'
import { maskStates } from './mask-states.js'
import { Mask } from './mask.js'
import { readPatterns } from '@retake/engine/runs'

const location = { file: '/a.ts', line: 1, column: 1, mapped: false }

/** A state with one variable, as `retake debug snapshot` writes it. */
function stateOf(json: unknown): CapturedState {
  const text = printDescribed(json)
  const variable = { name: 'it', scope: 'local', type: 'object', json, text, cut: false }
  return {
    step: '1',
    seq: 1,
    isDirect: true,
    location,
    source: 'send(ann@example.org)',
    frames: [{ name: 'main', location, variables: [variable] }],
    asyncFrames: [],
  }
}

const masked = (json: unknown): string => {
  const [state] = maskStates([stateOf(json)], new Mask(readPatterns(['email'])))
  return JSON.stringify(state)
}

const hex = (text: string): string => Buffer.from(text).toString('hex')
const buffer = (text: string, shown = text.length): object => ({
  $type: 'Buffer',
  bytes: text.length,
  hex: hex(text.slice(0, shown)),
})
const cut = (text: string): string => `${text.slice(0, 2000)}… (${text.length} characters)`

test('a value in a variable, in bytes of one and at the end of a text that was cut is hidden', () => {
  const secret = 'ann@example.org'
  expect(masked({ to: [secret] })).not.toContain('ann')
  const bytes = masked({ raw: buffer(`to ${secret}`) })
  expect(bytes).not.toContain(hex('ann'))
  expect(bytes).toContain(hex('to '))
  // What is shown ends in the middle of it.
  expect(masked(cut(`${'x '.repeat(996)}${secret} and more`))).not.toContain('ann')
  expect(masked([cut(`${'words '.repeat(332)}${secret} and more`)])).not.toContain('ann')
  expect(masked(buffer(`${'x '.repeat(22)}${secret}`, 50))).not.toContain(hex('ann'))
})

test('a state without redacted values is unchanged', () => {
  const state = { ...stateOf({ a: ['text', 1, null], b: buffer('plain') }), source: 'run()' }
  expect(maskStates([state], new Mask(readPatterns(['email'])))).toEqual([state])
})
