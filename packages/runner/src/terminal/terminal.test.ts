import { expect, onTestFinished, test, vi } from 'vitest'
import { printJson } from './terminal.js'

test('printed JSON hides keys of known shape, at any depth', () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  onTestFinished(() => log.mockRestore())
  const key = ['sk', 'ant', 'api03', 'Q7x'.repeat(16)].join('-')
  printJson({ steps: [{ input: `use ${key} now` }] })
  const [[printed]] = log.mock.calls as [[string]]
  expect(printed).not.toContain(key)
  expect(JSON.parse(printed)).toEqual({ steps: [{ input: expect.stringMatching(/^use .+ now$/) }] })
})
