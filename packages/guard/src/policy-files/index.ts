export { loadPolicy } from './load-policy.js'
export { type RunCalls, recordedRun } from './recorded-calls.js'
export { suggestRule } from './suggest-rule.js'
