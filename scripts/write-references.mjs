/**
 * Writes the pages that are generated: docs/errors.md, every error code with its text, read
 * from the factories in the source, docs/commands.md, from the tables of the commands, the
 * settings in docs/server-reference.md, and the tables of folders in ARCHITECTURE.md.
 * test/cli/references.test.ts fails if they are out of date.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'
import { root } from './run-command.mjs'
import { architecturePage } from './where-to-look.mjs'

const CODE = /^[A-Z]+(?:_[A-Z]+)+$/
/** Codes of records in a run, or of what a fix tried, not of errors. */
const NOT_ERRORS =
  /^(TEXT_WHERE_JSON|(INVALID|MISSING|TYPE|KIND|SCHEMA)_\w+|ERR_\w+|READ_VARIABLE|WRITE_PROTECTED)$/

/** Functions that turn a table into errors, and where the texts start in its rows. */
const TABLES = new Map([
  ['errorTable', 0],
  ['denialTable', 1],
  ['scopeTable', 0],
])

/** The errors in a source file: `{ code, what, why, fix }`, with `<name>` for each value that is filled in. */
export function errorsIn(source) {
  const found = []
  const add = (codes, texts) => {
    const [what = '', why = '', fix = ''] = texts.map((node) => (node ? sentence(node) : ''))
    for (const code of codes)
      if (CODE.test(code) && !NOT_ERRORS.test(code) && what !== '')
        found.push({ code, what, why, fix })
  }
  const { program } = parseSync('x.ts', source)
  const defaults = defaultCodesIn(program)
  walk(program, (node) => {
    const start = TABLES.get(node.callee?.name)
    if (node.type === 'CallExpression' && start !== undefined)
      for (const { key, value } of node.arguments[0].properties)
        add([key.name], resultOf(value).elements.slice(start))
    else if (node.type === 'NewExpression' || node.type === 'CallExpression') {
      // The code is followed by its texts.
      const at = node.arguments.findIndex((each) => codesIn(each).length > 0)
      const texts = node.arguments.slice(at + 1, at + 4)
      if (at >= 0 && texts.length > 1) add(codesIn(node.arguments[at]), texts)
    } else if (node.type === 'ObjectExpression') {
      const of = (name) => node.properties.find(({ key }) => key?.name === name)?.value
      const code = of('code')
      const codes = code?.type === 'Identifier' ? (defaults.get(code.name) ?? []) : codesIn(code)
      if (of('what')) add(codes, [of('what'), of('why'), of('fix') ?? of('allowed')])
      for (const { key, value } of node.properties)
        if (
          value?.type === 'Literal' &&
          typeof value.value === 'string' &&
          value.value.includes(' ')
        )
          add([key.name ?? ''], [value])
    } else if (node.type === 'ArrayExpression' && isCodeWithText(node)) {
      const [code, text] = node.elements
      add([code.value], [{ ...text, value: `${text.value}.` }])
    }
  })
  return found
}

/** The codes that variables have by default, as in `{ code = 'POLICY_DENIED' }`. */
function defaultCodesIn(program) {
  const found = new Map()
  walk(program, ({ type, left, right }) => {
    if (type === 'AssignmentPattern' && codesIn(right).length > 0)
      found.set(left.name, codesIn(right))
  })
  return found
}

/** `['SHELL_NOT_ALLOWED', 'A program was not started']` */
const isCodeWithText = ({ elements }) =>
  elements.length === 2 &&
  codesIn(elements[0]).length > 0 &&
  elements[1]?.type === 'Literal' &&
  String(elements[1].value).includes(' ')

function codesIn(node) {
  if (node?.type === 'ConditionalExpression')
    return [node.consequent, node.alternate].flatMap(codesIn)
  return typeof node?.value === 'string' && CODE.test(node.value) ? [node.value] : []
}

const resultOf = ({ body }) =>
  body.type === 'BlockStatement'
    ? body.body.find(({ type }) => type === 'ReturnStatement').argument
    : body

function walk(node, visit) {
  if (Array.isArray(node)) for (const each of node) walk(each, visit)
  else if (node !== null && typeof node === 'object') {
    if (typeof node.type === 'string') visit(node)
    for (const value of Object.values(node))
      if (value !== null && typeof value === 'object') walk(value, visit)
  }
}

/** A text of an error, with `<name>` for each value that is filled in. */
function sentence(node) {
  switch (node.type) {
    case 'Literal':
      return String(node.value)
    case 'TemplateLiteral':
      return node.quasis
        .map(
          ({ value }, index) =>
            value.cooked + (node.expressions[index] ? part(node.expressions[index]) : ''),
        )
        .join('')
    case 'ConditionalExpression':
      return [node.consequent, node.alternate].map(sentence).filter(Boolean).join(' Or: ')
    case 'BinaryExpression':
      return sentence(node.left) + sentence(node.right)
    case 'AssignmentPattern':
      return sentence(node.right)
    default:
      return part(node)
  }
}

function part(node) {
  switch (node.type) {
    case 'Literal':
    case 'TemplateLiteral':
      return sentence(node)
    case 'ConditionalExpression': {
      const parts = [node.consequent, node.alternate].map(part).filter(Boolean)
      return parts.join('/')
    }
    case 'LogicalExpression':
      return part(node.left)
    case 'Identifier':
      return `<${node.name}>`
    case 'MemberExpression':
      return node.property.name === 'length' ? '<count>' : `<${node.property.name ?? 'name'}>`
    case 'CallExpression':
      if (node.callee.name === 'systemSaid') return 'The system said: <reason>.'
      if (node.callee.name === 'reason') return '<reason>'
      if (/^(notStarted|whatOf)$/.test(node.callee.name)) return 'Tool "<tool>" was not started.'
      return node.callee.type === 'MemberExpression'
        ? part(node.callee.object)
        : part(node.arguments[0] ?? node.callee)
    case 'ParenthesizedExpression':
    case 'TSAsExpression':
      return part(node.expression)
    default:
      return '<details>'
  }
}

const isSource = (file) =>
  /^[^/]+\/src\/.*\.ts$/.test(file) && !/\.test\.ts$|^web\/src\/app\//.test(file)

/** Every error of the packages, in the order of their codes. */
export function allErrors() {
  const packages = join(root, 'packages')
  return readdirSync(packages, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter(isSource)
    .flatMap((file) =>
      errorsIn(readFileSync(join(packages, file), 'utf8')).map((error) => ({ ...error, file })),
    )
    .toSorted((a, b) => (a.code < b.code ? -1 : a.code > b.code ? 1 : 0))
}

const storyOf = (code) => join(root, 'docs/errors', `${code}.md`)

/** The text of docs/errors.md. */
export function errorReference() {
  const errors = allErrors()
  const codes = [...new Set(errors.map(({ code }) => code))]
  return [
    '# Error codes',
    '',
    'Every error has a stable code and says what happened, why, and how to fix it. `retake docs <CODE>` prints its entry. An entry has what happened, then how to fix it; the error itself also says why. `<name>` is replaced by a value; "Or:" separates different cases. Denials of guarded tools begin with the name of the tool that was not started. This page is generated from the source by `node scripts/write-references.mjs`.',
    ...codes.flatMap((code) => {
      const [first, ...others] = errors.filter((error) => error.code === code)
      // The page of an error says why, and how to fix it.
      if (existsSync(storyOf(code))) {
        const [, summary] = readFileSync(storyOf(code), 'utf8').split('\n\n')
        const fact = escaped(factOf(first.what)) || summary
        return ['', `## ${code}`, '', `${fact} [More](errors/${code}.md)`]
      }
      const entries = new Set([first, ...others].map(entry))
      return ['', `## ${code}`, ...[...entries].flatMap((text) => ['', text])]
    }),
    '',
  ].join('\n')
}

/** What happened, then how to fix it. Why is in the error; it stays here if nothing else says what happened. */
const entry = ({ what, why, fix }) =>
  [factOf(what) === '' || isValue(fix) ? `${factOf(what)} ${why}`.trim() : factOf(what), fix]
    .filter((text) => !isValue(text))
    .map(escaped)
    .join('\n\n')

/** Without what the top of the page says once. */
const factOf = (text) => {
  const fact = text
    .replace(/^Tool "<tool>" was not started\.$/, '')
    .replace(/ ?Or: $/, '')
    .trim()
  return isValue(fact) ? '' : fact
}

/** Texts that consist of a value only are in the message, not here. */
const isValue = (text) => text === '' || /^<\w+>\.?$/.test(text)

/** Values in code style, so that Markdown does not read them as HTML; not inside of code. */
const escaped = (text) =>
  text
    .split('`')
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replaceAll(/<\w+>|\*/g, (value) => (value === '*' ? '\\*' : `\`${value}\``)),
    )
    .join('`')
    .replaceAll('>``<', '><')

/** The text of docs/commands.md. The command line must be built. */
export async function commandReference() {
  const { verbs } = await import('../packages/cli/dist/verbs/index.js')
  const { optionLine, verbReference } = await import('../packages/runner/dist/command-line/help.js')
  const { verbEntries, partsOf } = await import('../packages/runner/dist/command-line/find-verb.js')
  const { optionsOf } = await import('../packages/runner/dist/command-line/verb.js')
  const all = await Promise.all(
    verbEntries(verbs).map(async ([name, { summary, load }]) => ({
      name,
      summary,
      verb: (await load?.())?.default,
    })),
  )
  // The help has the other examples.
  for (const each of all)
    if (each.verb) each.verb = { ...each.verb, examples: each.verb.examples.slice(0, 2) }
  const counts = new Map()
  for (const option of all.flatMap(({ verb }) => (verb === undefined ? [] : optionsOf(verb)))) {
    const line = optionLine(...option)
    counts.set(line, (counts.get(line) ?? 0) + 1)
  }
  const often = [...counts]
    .filter(([, count]) => count >= SHARED_BY)
    .toSorted((a, b) => b[1] - a[1])
  const specOf = (line) => line.split('`')[1]
  const shared = new Set(
    often
      .map(([line]) => line)
      .filter(
        (line, index, lines) =>
          lines.findIndex((other) => specOf(other) === specOf(line)) === index,
      ),
  )
  return [
    '# Commands',
    '',
    '`<run>` is an id, the first characters of an id, the path of a tape, `last`, `last~1` (the run before the last one) or `last:failed`. Results go to stdout, everything else to stderr. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 the command found something (such as a difference), 4 credentials missing, 5 not tried because a sandbox is missing, 130 interrupted. `retake <command> --help` says more. This page is generated by `node scripts/write-references.mjs`.',
    '',
    'Options of many commands, which are only named below. All commands have `--help` and `--json`; all that read runs have `--dir`.',
    '',
    ...shared,
    '',
    ...all.map(({ name, summary, verb }) =>
      verbReference(name, summary, verb, partsOf(verbs, name), shared),
    ),
  ].join('\n')
}

/** An option that so many commands explain in the same words is explained once. */
const SHARED_BY = 2

const SETTINGS = /(<!-- settings: [^\n]*-->\n)[^]*?(<!-- \/settings -->)/

/** The text of docs/server-reference.md with its list of settings. The server must be built. */
export async function serverPage() {
  const { listSettings } = await import('../packages/server/bundle/index.js')
  const lines = listSettings({}, {}).map(
    ({ env, about, default: fallback }) =>
      `- \`${env}\`: ${about}${fallback === undefined ? '' : ` (default: \`${fallback}\`)`}`,
  )
  return readFileSync(join(root, 'docs/server-reference.md'), 'utf8').replace(
    SETTINGS,
    (_, start, end) => `${start}\n${lines.join('\n')}\n\n${end}`,
  )
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(join(root, 'docs/server-reference.md'), await serverPage())
  writeFileSync(join(root, 'ARCHITECTURE.md'), architecturePage())
  writeFileSync(join(root, 'docs/errors.md'), errorReference())
  writeFileSync(join(root, 'docs/commands.md'), await commandReference())
}
