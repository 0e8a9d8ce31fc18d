import path from 'node:path'
import type { Verdict } from './verdict.js'
import { xmlAttribute, xmlText } from './xml-text.js'

/** What was verified in the form that CI systems read: a test case for each tape, a suite for each folder. */
export function junitReport(verdicts: readonly Verdict[], startedAt: Date): string {
  const folders = [...new Set(verdicts.map(({ tape }) => path.dirname(tape)))]
  const suites = folders.flatMap((folder) => {
    const members = verdicts.filter(({ tape }) => path.dirname(tape) === folder)
    const timestamp = startedAt.toISOString().replace(/\.\d+Z$/, '')
    return [
      element('testsuite', { name: folder, timestamp, ...countsOf(members) }),
      ...members.flatMap(testCase),
      '  </testsuite>',
    ]
  })
  const head = { name: 'retake verify', ...countsOf(verdicts) }
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes(head)}>`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n')
}

function testCase(verdict: Verdict): string[] {
  const { tape, name, seconds, verified } = verdict
  const file = path.basename(tape)
  const properties = {
    tape,
    run: verified.run,
    integrity: verified.integrity,
    replay: verified.replay,
    events: verified.events,
    served: verified.replayed?.served,
    site: verdict.site,
  }
  return [
    `    <testcase${attributes({
      name: name === file ? file : `${name} (${file})`,
      classname: path.dirname(tape),
      file: tape,
      time: seconds.toFixed(3),
    })}>`,
    '      <properties>',
    ...Object.entries(properties)
      .filter(([, value]) => value !== undefined)
      .map(
        ([key, value]) => `        <property${attributes({ name: key, value: String(value) })}/>`,
      ),
    '      </properties>',
    ...outcomeLines(verdict),
    '    </testcase>',
  ]
}

function outcomeLines({ outcome, summary, text, verified }: Verdict): string[] {
  if (outcome === 'passed') return []
  if (outcome === 'skipped')
    return [`      <skipped${attributes({ message: verified.notReplayed ?? summary })}/>`]
  const tag = outcome === 'failed' ? 'failure' : 'error'
  const type =
    verified.error?.code ?? (verified.replay === 'diverged' ? 'diverged' : verified.integrity)
  return [`      <${tag}${attributes({ message: summary, type })}>${xmlText(text)}</${tag}>`]
}

const element = (name: string, fields: Readonly<Record<string, string>>): string =>
  `  <${name}${attributes(fields)}>`

function countsOf(verdicts: readonly Verdict[]): Record<string, string> {
  const count = (outcome: Verdict['outcome']): string =>
    String(verdicts.filter((verdict) => verdict.outcome === outcome).length)
  return {
    tests: String(verdicts.length),
    failures: count('failed'),
    errors: count('error'),
    skipped: count('skipped'),
    time: verdicts.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(3),
  }
}

const attributes = (fields: Readonly<Record<string, string>>): string =>
  Object.entries(fields)
    .map(([name, value]) => ` ${name}="${xmlAttribute(value)}"`)
    .join('')
