import { printDescribed } from '@retake/engine/inspect'
import type { AmbientInput, BlameFindings, CapturedState } from '@retake/tape'
import type { Mask } from './mask.js'
import type { RunBlame, RunFix } from '@retake/web'

/**
 * Masks matches in the fields of blame findings that can contain text from the run or the
 * user: oracle, reasons, labels, ambient inputs and notes. The other fields contain only numbers and fixed words.
 */
export function maskBlame(blame: RunBlame, mask: Mask): RunBlame {
  const { facts } = blame
  const hide = (text: string): string => mask.text(text)
  return {
    ...blame,
    oracle: hide(blame.oracle),
    findings: maskFindings(blame.findings, hide),
    facts: {
      ...facts,
      undefinedBy: facts.undefinedBy.map(({ reason, count }) => ({ reason: hide(reason), count })),
      free: facts.free.map(hide),
    },
  }
}

/** The same for the result of `retake fix`: every text except fixed words and ids. */
export function maskFix(fix: RunFix, mask: Mask): RunFix {
  const hide = (text: string): string => mask.text(text)
  return {
    ...fix,
    oracle: hide(fix.oracle),
    reason: hide(fix.reason),
    headline: hide(fix.headline),
    notes: fix.notes.map(hide),
    symptoms: fix.symptoms.map((each) => ({ ...each, evidence: hide(each.evidence) })),
    fixes: fix.fixes.map((each) => ({
      ...each,
      title: hide(each.title),
      why: hide(each.why),
      reason: hide(each.reason),
      facts: each.facts.map(({ label, text }) => ({ label, text: hide(text) })),
      files: each.files.map(({ path, lines }) => ({
        path: hide(path),
        lines: lines.map(({ sign, text }) => ({ sign, text: hide(text) })),
      })),
    })),
  }
}

function maskFindings(findings: BlameFindings, hide: (text: string) => string): BlameFindings {
  const label = (text: string): string => hideLabel(text, hide)
  const { why, race, repair, decisionStep, commitStep } = findings
  return {
    ...findings,
    ...(why !== undefined && { why: hide(why) }),
    ...(race !== undefined && { race: { steps: race.steps.map(label), text: hide(race.text) } }),
    ...(repair !== undefined && {
      repair: { ...repair, steps: repair.steps.map(label), pinned: label(repair.pinned) },
    }),
    ...(decisionStep !== undefined && { decisionStep: label(decisionStep) }),
    ...(commitStep !== undefined && { commitStep: label(commitStep) }),
    causes: findings.causes.map((cause) => ({ ...cause, steps: cause.steps.map(label) })),
    steps: findings.steps.map((step) => ({ ...step, label: label(step.label) })),
    ambient: findings.ambient.map(({ kind, ...texts }) => ({
      kind,
      ...(mapTexts(texts, hide) as Omit<AmbientInput, 'kind'>),
    })),
    riskCurve: findings.riskCurve.map(({ upTo, rate }) => ({
      ...(upTo !== undefined && { upTo: label(upTo) }),
      rate,
    })),
    evidence: findings.evidence.map(({ given, ...probe }) => ({
      ...probe,
      pinned: label(probe.pinned),
      ...(given !== undefined && {
        given: given.map(({ step, from }) => ({ step: label(step), from: label(from) })),
      }),
    })),
    notes: findings.notes.map(hide),
  }
}

const mapTexts = (texts: object, hide: (text: string) => string): object =>
  Object.fromEntries(
    Object.entries(texts).map(([key, value]) => [
      key,
      Array.isArray(value) ? value.map(hide) : hide(String(value)),
    ]),
  )

/** Numbers of steps are not the user's, whatever the pattern: a step that has none would be lost. */
const hideLabel = (label: string, hide: (text: string) => string): string =>
  /^[\d.,– -]*$/.test(label) ? label : hide(label)

/** Suffix of a text that was cut (`describeValue` of the engine). */
const CUT = /… \(\d+ characters\)$/
/** Characters before a cut that may be the beginning of something to hide, besides the last word. */
const TAIL = 40

/**
 * Captured states with all matches hidden. Bytes are in hex, and
 * long texts are cut: where one ends may be half a value, so that its last words go too.
 */
export const maskStates = (states: readonly CapturedState[], mask: Mask): CapturedState[] =>
  states.map((state) => {
    const { frames, ...rest } = state
    return {
      ...(mask.deep(rest) as typeof rest),
      frames: frames.map(({ variables, ...frame }) => ({
        ...(mask.deep(frame) as typeof frame),
        variables: variables.map(({ name, json, text, ...about }) => {
          const masked = mask.deep(withoutHalves(json, mask))
          const isSame = JSON.stringify(masked) === JSON.stringify(json)
          return {
            ...about,
            name: mask.text(name),
            json: masked,
            text: isSame ? mask.text(text) : printDescribed(masked),
          }
        }),
      })),
    }
  })

function withoutHalves(value: unknown, mask: Mask): unknown {
  if (typeof value === 'string') return withoutEnd(value)
  if (Array.isArray(value)) return value.map((each) => withoutHalves(each, mask))
  if (typeof value !== 'object' || value === null) return value
  if (isBytes(value)) return { ...value, hex: maskedHex(value, mask) }
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, withoutHalves(member, mask)]),
  )
}

const withoutEnd = (text: string): string => {
  const cut = CUT.exec(text)
  return cut === null ? text : starEnd(text.slice(0, cut.index)) + cut[0]
}

function starEnd(text: string): string {
  let start = Math.max(0, text.length - TAIL)
  while (start > 0 && /\S/.test(text[start - 1] ?? '')) start--
  return text.slice(0, start) + '*'.repeat(text.length - start)
}

interface Bytes {
  readonly $type: string
  readonly bytes: number
  readonly hex: string
}

const isBytes = (value: object): value is Bytes =>
  'hex' in value && typeof value.hex === 'string' && 'bytes' in value && '$type' in value

function maskedHex({ bytes, hex }: Bytes, mask: Mask): string {
  const shown = Buffer.from(hex, 'hex')
  const [masked = shown] = mask.pieces([shown])
  if (bytes <= shown.length) return Buffer.from(masked).toString('hex')
  return Buffer.from(starEnd(Buffer.from(masked).toString('latin1')), 'latin1').toString('hex')
}
