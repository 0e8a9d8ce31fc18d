import { ALL_VARIABLES, type Attempt } from '../proof/uses.js'
import type { Claim } from '../proof/claims.js'
import type { Loss } from '../proof/losses.js'
import type { FixEvidence, JudgedFix } from '../proof/prove-fixes.js'
import type { Refusal } from '../proof/review-edit.js'

/** Limits of a claim, and how to show more; undefined if there are none. */
export function limitText(
  { literals, siblings }: FixEvidence,
  claim: Claim | undefined,
): string | undefined {
  if (claim === 'this-kind')
    return 'No passing run was judged by an oracle. Record passing runs, and say with --oracle what a pass is.'
  if (claim !== 'this-run') return undefined
  const failing = siblings.trials - siblings.passed
  if (failing > 0) return `${failing} of ${siblings.trials} other failed runs still fail.`
  return literals.length > 0
    ? 'The comparison may be the only reason why this run passes.'
    : 'Whether it repairs other runs was not shown. Record more failed runs, or name them with --sibling.'
}

/** Where a change does something, and the line; a report without source has no line. */
const at = (location: string, line: string): string =>
  line === '' ? location : `${location}: ${line}`

export function lossText(loss: Loss): string {
  switch (loss.code) {
    case 'EMPTY_PRINTED':
      return `it prints ${loss.value}: “${loss.line}”`
    case 'EMPTY_SENT':
      return `it sends ${loss.value} in step ${loss.step}`
    case 'OUTPUT_MISSING':
      return `it no longer prints “${loss.line}”`
    case 'ACTION_MISSING':
      return `it no longer makes step ${loss.step} (${loss.title})`
    case 'DEFAULT_ADDED':
      return `a constant replaces a missing value at ${at(loss.at, loss.text)}`
    case 'EXCEPTION_IGNORED':
      return `an error is ignored at ${at(loss.at, loss.text)}`
    case 'MODEL_REPLACED':
      return `another model answers at ${loss.at}, which may answer worse: ${loss.text}`
    case 'TEXT_REMOVED':
      return `it removes sentences that a pattern finds, and misses other wordings, at ${loss.at}`
    case 'CALLS_DENIED':
      return `it denies calls that other runs may need, and may miss similar ones, at ${loss.at}`
    case 'ITEMS_SKIPPED':
      return `data is skipped at ${at(loss.at, loss.text)}`
    case 'VALUE_NAMED':
      return `it names a value of this run at ${at(loss.at, loss.text)}`
    case 'LENGTH_COMPARED':
      return `it depends on a length of this run at ${at(loss.at, loss.text)}`
    case 'OLD_CODE_KEPT':
      return `the wrong code stays for all but one case at ${at(loss.at, loss.text)}`
    case 'OFFSET_ADDED':
      return `it adds a constant that may suit only this run at ${at(loss.at, loss.text)}`
    case 'NUMBER_TUNED':
      return `it changes a number only a little at ${at(loss.at, loss.text)}`
    case 'ENTRY_COPIED':
      return `two entries of a table are the same now at ${at(loss.at, loss.text)}`
    case 'ROUNDED_OTHERWISE':
      return `it rounds to the other side at ${at(loss.at, loss.text)}`
    case 'ITEMS_COUNTED':
      return `it uses a fixed number of items at ${at(loss.at, loss.text)}`
    case 'SORT_REMOVED':
      return `it no longer sorts at ${at(loss.at, loss.text)}`
    case 'SITE_LEFT':
      return `the same code is not changed at ${at(loss.at, loss.text)}`
    case 'RESULT_WRITTEN':
      return `it prints a constant as the result at ${at(loss.at, loss.text)}`
    case 'NUMBER_COMPARED':
      return `a number that may suit only this run decides at ${at(loss.at, loss.text)}`
    case 'PART_TAKEN':
      return `it uses a fixed part of a value at ${at(loss.at, loss.text)}`
    case 'KIND_ASSUMED':
      return `it fails for numbers at ${at(loss.at, loss.text)}`
    case 'TABLE_ADDED':
      return `it looks values up in a new table at ${at(loss.at, loss.text)}`
    case 'REPLACED_ONCE':
      return `it replaces only the first of several at ${at(loss.at, loss.text)}`
    case 'TEST_WEAKENED':
      return `a part of a text is enough now at ${at(loss.at, loss.text)}`
  }
}

export function refusalText({ code, at: location, text }: Refusal): string {
  switch (code) {
    case 'PROTECTED_FILE':
      return `it changes ${location}, which decides what is right or may run`
    case 'EXIT_CODE_CHANGED':
      return `it sets the exit code at ${at(location, text)}`
    case 'EARLY_EXIT':
      return `it ends the program at ${at(location, text)}`
    case 'CHECK_REMOVED':
      return `it removes a check, before the change at ${at(location, text)}`
    case 'EXPECTED_TEXT_WRITTEN':
      return `it writes the expected result itself at ${at(location, text)}`
    case 'CODE_FROM_TEXT':
      return `it runs code from text at ${at(location, text)}`
    case 'WRITE_ADDED':
      return `it adds a write whose path is not plainly in the project, at ${at(location, text)}`
    case 'ADDRESS_ADDED':
      return `it adds an address that the code does not have, at ${at(location, text)}`
    case 'GLOBAL_REPLACED':
      return `it replaces a part of JavaScript or Node at ${at(location, text)}`
    case 'MODULE_ADDED':
      return `it uses a module that a fix may not use at ${at(location, text)}`
  }
}

export function attemptText({ code, what }: Attempt): string {
  switch (code) {
    case 'WRITE':
      return `it tried to write ${what}, outside the project`
    case 'WRITE_PROTECTED':
      return `it tried to write ${what}, which decides what is right or may run`
    case 'SPAWN':
      return `it tried to start ${what}`
    case 'LISTEN':
      return `it tried to listen on ${what}`
    case 'CONNECT':
      return `it tried to reach ${what}`
    case 'READ_VARIABLE':
      return what === ALL_VARIABLES
        ? 'it tried to list all environment variables'
        : `it tried to read the variable ${what}`
  }
}

/** Why a change was rejected or is not more than it is, in words. */
export function verdictReason({ verdict, evidence }: JudgedFix): string {
  const { refusals = [], reason, status } = verdict
  const facts = [
    ...refusals.map(refusalText),
    ...evidence.attempts.map(attemptText),
    ...(status === 'workaround' ? evidence.losses.map(lossText) : []),
  ]
  return facts.length === 0 ? reason : `${reason} ${sentence(facts)}`
}

const sentence = (facts: readonly string[]): string => {
  const text = facts.join('; ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
