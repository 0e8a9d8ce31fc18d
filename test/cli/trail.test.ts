import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { expect, test } from 'vitest'
import { storedSpans } from '../../packages/interop/dist/portable/imported-run.js'
import type { Span } from '../../packages/interop/dist/portable/span.js'
import { soakOnly } from '../support/soak.js'
import { folderWith } from './workspace.js'

/** The folder `benchmarking/data` of github.com/patronus-ai/trail-benchmark. */
const TRAIL = process.env['RETAKE_TRAIL'] ?? 'trail'

type Fields = Readonly<Record<string, unknown>>

test('every field of the TRAIL traces is in the imported runs', async (context) => {
  soakOnly()
  context.skip(!existsSync(TRAIL), 'The traces are missing: set RETAKE_TRAIL to their folder')
  const files = readdirSync(TRAIL, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.json'))
    .map((file) => join(TRAIL, file))
  const { retake, folder } = await folderWith({})
  const { stdout } = await retake(['import', '--json', ...files], { timeoutMs: 3_600_000 })
  const { runs } = JSON.parse(stdout) as { runs: readonly { run: string }[] }
  const imported = new Map<string, Span>()
  for (const { run } of runs)
    for (const span of storedSpans(openTape(join(folder, '.retake', 'runs', `${run}.tape`))))
      imported.set(span.traceId + span.spanId, span)

  const lost: string[] = []
  const counts = { files: files.length, runs: runs.length, spans: 0, fields: 0, events: 0 }
  for (const file of files)
    for (const [key, span] of spansOf(JSON.parse(readFileSync(file, 'utf8')) as Fields)) {
      const stored = imported.get(key)
      counts.spans++
      counts.events += (span['events'] as unknown[]).length
      for (const [name, given, found] of fieldsOf(span, stored)) {
        counts.fields++
        if (found !== given) lost.push(`${key} ${name}: ${given} → ${found}`)
      }
    }
  process.stdout.write(`${JSON.stringify(counts)}\n`)
  expect(lost).toEqual([])
  expect(counts.runs).toBe(counts.files)
})

function* spansOf({ spans }: Fields): Generator<readonly [key: string, Fields]> {
  for (const span of spans as readonly Fields[]) {
    yield [`${String(span['trace_id'])}${String(span['span_id'])}`, span]
    yield* spansOf({ spans: span['child_spans'] })
  }
}

const STATUSES: readonly unknown[] = ['Unset', 'Ok', 'Error']

/** Each field of a span that is not empty: as it was given, and as it is stored. */
function* fieldsOf(
  given: Fields,
  stored: Span | undefined,
): Generator<readonly [name: string, given: string, found: string]> {
  const attributes: Fields = stored?.attributes ?? {}
  const known: Readonly<Record<string, () => readonly [unknown, unknown]>> = {
    trace_id: () => [given['trace_id'], stored?.traceId],
    span_id: () => [given['span_id'], stored?.spanId],
    parent_span_id: () => [given['parent_span_id'], stored?.parentSpanId],
    span_name: () => [given['span_name'], stored?.name],
    span_kind: () => [String(given['span_kind']).toLowerCase(), stored?.kind],
    service_name: () => [given['service_name'], stored?.resource.attributes['service.name']],
    scope_name: () => [given['scope_name'], stored?.scope.name],
    status_code: () => [STATUSES.indexOf(given['status_code']), stored?.status.code],
    status_message: () => [given['status_message'], stored?.status.message],
    timestamp: () => [nanosOfDate(given['timestamp']), stored?.start],
    duration: () => [nanosOfDuration(given['duration']), stored && tookNanos(stored)],
  }
  for (const [name, value] of Object.entries(given)) {
    if (name === 'span_attributes') {
      for (const [key, each] of Object.entries(value as Fields))
        yield [`${name}.${key}`, text(each), text(attributes[key])]
    } else if (name === 'events') {
      for (const [index, each] of (value as readonly Fields[]).entries()) {
        const found = stored?.events[index]
        yield [`${name}.Name`, text(each['Name']), text(found?.name)]
        yield [`${name}.Timestamp`, nanosOfDate(each['Timestamp']), text(found?.time)]
        for (const [key, own] of Object.entries(each['Attributes'] as Fields))
          yield [`${name}.${key}`, text(own), text(found?.attributes[key])]
      }
    } else if (name !== 'child_spans' && !isEmpty(value)) {
      const [own, found] = known[name]?.() ?? [value, attributes[`trail.${name}`]]
      yield [name, text(own), text(found)]
    }
  }
}

const isEmpty = (value: unknown): boolean =>
  value === '' || value === null || (typeof value === 'object' && Object.keys(value).length === 0)

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const tookNanos = ({ start, end }: Span): string => String(BigInt(end) - BigInt(start))

/** Nanoseconds since 1970 of a date such as `2025-03-19T16:40:50.544504Z`. */
function nanosOfDate(date: unknown): string {
  const [whole = '', fraction = ''] = String(date).replace(/Z$/, '').split('.')
  return String(BigInt(Date.parse(`${whole}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, '0')))
}

/** Nanoseconds of a duration such as `PT1M33.789274S`. */
function nanosOfDuration(duration: unknown): string {
  const [, hours = 0, minutes = 0, seconds = 0, fraction = ''] =
    /^PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?$/.exec(String(duration)) ?? []
  const whole = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
  return String(BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0')))
}
