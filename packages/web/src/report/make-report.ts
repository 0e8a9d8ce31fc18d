import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { constants, deflateRawSync } from 'node:zlib'
import { webRoot } from '../built/package-root.js'
import { BLOCKS, type ReportAbout, type ReportParts } from './report-parts.js'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character)

/** JSON for a data `<script>`, escaped so that it cannot end the element. */
export const inlineJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll('<', String.raw`\u003c`)

/**
 * Code for a `<script>`, escaped so that it cannot end the element. Such sequences occur only in
 * strings and regular expressions, where an escape does not change the meaning.
 */
export const inlineScript = (code: string): string =>
  code.replaceAll(/<(?=\/script)/gi, String.raw`\x3c`).replaceAll('<!--', String.raw`\x3c!--`)

export interface ReportContent extends ReportParts, Omit<ReportAbout, 'tapes'> {
  /** From the root to the run itself, as `looseTape` returns them. */
  readonly tapes: readonly Uint8Array[]
}

export const REPORT_MARK = '<meta name="generator" content="retake report">'

/**
 * A page that shows a run offline. Contains the compressed tape and the viewer. Can neither load nor
 * send anything.
 */
export function makeReport(content: ReportContent): string {
  const { tapes, run, title, madeAt, version, notes, tabs, ...parts } = content
  const about: ReportAbout = { run, title, madeAt, version, notes, tabs, tapes: tapes.length }
  const script = inlineScript(built('report.js'))
  const style = built('report.css')
  if (/<\/style/i.test(style)) throw new Error('the style sheet would end its element')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${REPORT_MARK}
<meta http-equiv="content-security-policy" content="${policy(script, style)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="root"></div>
<noscript>This report contains a recorded run and a viewer. It needs JavaScript, but no network.</noscript>
${dataBlock(BLOCKS.about, 'application/json', inlineJson(about))}
${dataBlock(BLOCKS.worker, 'application/json', inlineJson(built('worker.js')))}
<script>${script}</script>
${dataBlock(BLOCKS.parts, 'application/octet-stream', packed(JSON.stringify(parts)))}
${tapes.map((tape, index) => dataBlock(BLOCKS.tape(index), 'application/octet-stream', packed(tape))).join('\n')}
</body>
</html>
`
}

/** A content security policy that allows only the embedded script, styles and worker. */
export const policy = (script: string, style: string): string =>
  [
    `default-src 'none'`,
    `script-src '${digest(script)}'`,
    `style-src '${digest(style)}'`,
    'worker-src blob:',
    'img-src data:',
    `base-uri 'none'`,
    `form-action 'none'`,
  ].join('; ')

const digest = (text: string): string =>
  `sha256-${createHash('sha256').update(text).digest('base64')}`

/** A script element with data, which browsers do not execute. */
export const dataBlock = (id: string, type: string, content: string): string =>
  `<script type="${type}" id="${id}">${content}</script>`

const packed = (data: Uint8Array | string): string =>
  deflateRawSync(data, { level: 9, memLevel: constants.Z_MAX_MEMLEVEL }).toString('base64')

/** Reads a built file. Also works when run from the sources. */
export const built = (name: string): string =>
  readFileSync(new URL(`dist/report-page/${name}`, webRoot), 'utf8')
