import type { Attempt } from '../proof/attempts.js'
import type { Claim } from '../proof/claims.js'
import type { Loss } from '../proof/losses.js'
import type { JudgedFix } from '../proof/prove-fixes.js'
import type { Refusal } from '../proof/review-edit.js'

/** What a claim leaves open, and how to show more; missing if nothing. */
export const CLAIM_LIMITS: Readonly<Partial<Record<Claim, string>>> = {
  'this-run':
    'Whether it repairs other runs was not shown. Record more failed runs, or name them with --sibling.',
  'this-kind':
    'No passing run was judged by an oracle. Record passing runs, and say with --oracle what a pass is.',
}

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
      return `a constant replaces a missing value at ${loss.at}: ${loss.text}`
    case 'EXCEPTION_IGNORED':
      return `an error is ignored at ${loss.at}: ${loss.text}`
    case 'ITEMS_SKIPPED':
      return `data is skipped at ${loss.at}: ${loss.text}`
  }
}

export function refusalText({ code, at, text }: Refusal): string {
  switch (code) {
    case 'PROTECTED_FILE':
      return `it changes ${at}, which decides what is right or may run`
    case 'EXIT_CODE_CHANGED':
      return `it sets the exit code at ${at}: ${text}`
    case 'EARLY_EXIT':
      return `it ends the program at ${at}: ${text}`
    case 'CHECK_REMOVED':
      return `it removes a check, at ${at} before the change: ${text}`
    case 'EXPECTED_TEXT_WRITTEN':
      return `it writes the expected result itself at ${at}: ${text}`
    case 'CODE_FROM_TEXT':
      return `it runs code from text at ${at}: ${text}`
  }
}

export function attemptText({ code, what }: Attempt): string {
  switch (code) {
    case 'WRITE':
      return `it tried to write ${what}, outside the project`
    case 'SPAWN':
      return `it tried to start ${what}`
    case 'LISTEN':
      return `it tried to listen on ${what}`
    case 'CONNECT':
      return `it tried to reach ${what}`
    case 'READ_VARIABLE':
      return `it tried to read the variable ${what}`
  }
}

/** Why a change was rejected or is not more than it is, in words. */
export function verdictReason({ verdict, evidence }: JudgedFix): string {
  const { refusals = [], reason } = verdict
  const facts = [...refusals.map(refusalText), ...evidence.attempts.map(attemptText)]
  return facts.length === 0 ? reason : `${reason} ${sentence(facts)}`
}

/** Why a change is not good enough, for whoever writes the next one. */
export function rejectionReason(fix: JudgedFix): string {
  const losses = fix.evidence.losses.map(lossText)
  const isWorkaround = fix.verdict.status === 'workaround'
  return [
    ...(isWorkaround ? [] : [verdictReason(fix)]),
    ...(losses.length > 0 ? [sentence(losses)] : []),
  ].join(' ')
}

const sentence = (facts: readonly string[]): string => {
  const text = facts.join('; ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
