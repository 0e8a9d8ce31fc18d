import { expect, test } from 'vitest'
import { checkConfig } from './check-config.js'

test.each([
  ['{ "run": "x" }', 'run: Unknown key "run". Did you mean runs?'],
  [
    '{ "zebra": "x" }',
    'zebra: Unknown key "zebra". Known keys: runs, prices, matchers, redact, recording, pureAddons, oracle, judge, blame, fix, seal, push, retention.',
  ],
  ['{ "runs": 5 }', 'runs: It must be the path of a folder, not 5.'],
  ['[]', 'It must be an object, not a list.'],
  ['{ "prices": [] }', 'prices: It must be an object, not a list.'],
  ['{ "prices": { "gpt-5": 3 } }', 'prices.gpt-5: It must be an object, not 3.'],
  [
    '{ "prices": { "gpt-5": { "input": 1 } } }',
    'prices.gpt-5: `output` is missing: dollars for a million tokens.',
  ],
  [
    '{ "prices": { "gpt-5": { "input": 1, "output": "2" } } }',
    'prices.gpt-5.output: It must be dollars for a million tokens, not "2".',
  ],
  [
    '{ "prices": { "gpt-5": { "input": 1, "output": 2, "cacheInput": 1 } } }',
    'prices.gpt-5.cacheInput: Unknown key "cacheInput". Did you mean cachedInput?',
  ],
  ['{ "matchers": "dates" }', 'matchers: It must be a list, not "dates".'],
  ['{ "matchers": ["dates", 1] }', 'matchers[1]: It must be a name or a file, not 1.'],
  ['{ "redact": "email" }', 'redact: It must be a list, not "email".'],
  ['{ "redact": [3] }', 'redact[0]: It must be a regular expression, a name or a function, not 3.'],
  ['{ "seal": { "sign": "yes" } }', 'seal.sign: It must be true or false, not "yes".'],
  [
    '{ "retention": { "floor": 180 } }',
    'retention.floor: It must be an age such as "180d", not 180.',
  ],
  [
    '{ "retention": { "maxSize": "20 apples" } }',
    'retention.maxSize: It must be a size such as "20GB", not "20 apples".',
  ],
  ['{ "oracle": 3 }', 'oracle: It must be a text such as "exit:0", or a function, not 3.'],
  [
    '{ "judge": { "key": "x" } }',
    'judge.key: Unknown key "key". Known keys: url, model, apiKeyEnv.',
  ],
  [
    '{ "judge": { "apiKeyEnv": "k-1234/5678" } }',
    'judge.apiKeyEnv: It must be the name of an environment variable, not the key itself.',
  ],
  ['{ "blame": { "job": 2 } }', 'blame.job: Unknown key "job". Did you mean jobs?'],
  ['{ "blame": { "jobs": 1.5 } }', 'blame.jobs: It must be a whole number from 1 on, not 1.5.'],
  ['{ "blame": { "maxUsd": -1 } }', 'blame.maxUsd: It must be a number from 0 on, not -1.'],
  [
    '{ "blame": { "free": ["tool=live", "x"] } }',
    'blame.free[1]: It must be a text such as "tool=neutral", not "x".',
  ],
])('a mistake is reported with its path: %s', (text, why) => {
  expect(() => checkConfig('retake.config.json', JSON.parse(text))).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', why }) as Error,
  )
})

test('a valid config is used unchanged', () => {
  const config = {
    runs: 'tapes',
    prices: { mine: { input: 0, output: 2.5, cachedInput: 1, cacheWrite: 1, reasoning: 3 } },
    matchers: ['dates', './mine.mjs'],
    redact: ['email', /cus_\w+/],
    oracle: () => true,
    judge: { url: 'http://127.0.0.1:1/v1', model: 'm', apiKeyEnv: 'MY_KEY' },
    blame: {
      oracle: 'exit:0',
      free: 'tool=neutral',
      simulator: './s.mjs',
      maxForks: 0,
      maxUsd: 0.5,
      jobs: 2,
    },
  }
  expect(checkConfig('retake.config.json', config)).toEqual(config)
  expect(checkConfig('retake.config.json', {})).toEqual({})
})
