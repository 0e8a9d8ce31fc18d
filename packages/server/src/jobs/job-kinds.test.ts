import { expect, test } from 'vitest'
import { jobCommand, jobOptions, kindOfJob } from './job-kinds.js'

test('options become arguments of the command, and none of them can add another', () => {
  const options = jobOptions('fork', { at: '3', set: ['price=49', '--out=/etc/x'] })
  const offline = { variables: [], sendsRequests: false }
  expect(jobCommand({ kind: 'fork', run: 'run1', options }, offline)).toEqual([
    'fork',
    'run1',
    '--trust',
    '--json',
    '--tail=offline',
    '--at=3',
    '--set=price=49',
    '--set=--out=/etc/x',
  ])
})

test.each([
  ['fork', {}, 'needs the step'],
  ['fork', { at: 3 }, 'must be a string'],
  ['fork', { at: '3', node: 'x' }, 'Unknown key "node". Known keys: at, set'],
  ['blame', { forks: 1_000_000 }, 'from 1 to 1000'],
  ['export', { format: '../../etc' }, 'It cannot be "../../etc". It must be one of jsonl'],
  ['replay', { observe: 'yes' }, 'true or false'],
])('a %s job with options %j is refused', (kind, options, why) => {
  expect(() => jobOptions(kind, options)).toThrow(why)
})

test('a job of an unknown kind is refused, also if objects have a member of that name', () => {
  expect(() => jobOptions('constructor', {})).toThrow('Unknown job kind')
})

test('only jobs that read tapes run without a sandbox', () => {
  const needsSandbox = (kind: string, options = {}) => kindOfJob(kind).runsCode(options)
  expect(needsSandbox('scan') || needsSandbox('export')).toBe(false)
  expect(needsSandbox('verify', { integrityOnly: true })).toBe(false)
  for (const kind of ['replay', 'verify', 'fork', 'blame', 'fix'])
    expect(needsSandbox(kind)).toBe(true)
})
