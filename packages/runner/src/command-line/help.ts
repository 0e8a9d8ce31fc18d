import { wrap } from '../terminal/terminal.js'
import { optionsOf, type Verb } from './verb.js'
import { type VerbEntry, verbEntries, VERB_GROUPS, type VerbTable } from './find-verb.js'

/** Characters of a group's name and of one of the two columns beside it. */
const GROUP_WIDTH = 9
const COLUMN_WIDTH = 35

/** The commands in their groups: two columns that fit one screen of 80×24, one column if narrower. */
export function generalHelp(table: VerbTable, width: number): string {
  const columns = width < GROUP_WIDTH + 2 * COLUMN_WIDTH ? 1 : 2
  const commands = verbEntries(table)
  const nameWidth = Math.max(...commands.map(([name, { group }]) => (group ? name.length : 0))) + 2
  const groups = VERB_GROUPS.flatMap((group) => {
    const cells = commands
      .filter(([, command]) => command.group === group)
      .map(([name, { summary }]) => name.padEnd(nameWidth) + summary)
    const count = Math.ceil(cells.length / columns)
    return cells.slice(0, count).map((cell, index) => {
      const lead = (index === 0 ? group : '').padEnd(GROUP_WIDTH)
      return `${lead}${cell.padEnd(COLUMN_WIDTH)}${cells[index + count] ?? ''}`.trimEnd()
    })
  })
  return [
    ...wrap('Retake, a flight recorder for AI agents. Usage: retake <command> [options]', width),
    '',
    ...groups,
    '',
    ...wrap('`retake <command> --help` has options and examples; `retake docs` the rest.', width),
  ].join('\n')
}

/** The help of a command, with its subcommands and other forms. */
export function verbHelp(
  name: string,
  summary: string,
  verb: Verb | undefined,
  parts: readonly (readonly [name: string, command: VerbEntry])[],
  width: number,
): string {
  const more = parts.map(([part, command]) => [`retake ${part}`, command.summary] as const)
  const title = verb === undefined ? 'Commands:' : 'See also, with --help:'
  return [
    summary,
    '',
    ...wrap(`usage: ${usageOf(name, verb)}`, width),
    ...paragraphs(verb).flatMap((text) => ['', ...wrap(text, width)]),
    ...(verb === undefined ? [] : listing('Options:', optionsOf(verb), width)),
    ...(more.length === 0 ? [] : listing(title, more, width)),
    '',
    ...(verb === undefined
      ? [`\`retake ${name} <command> --help\` explains a command.`]
      : ['Examples:', ...verb.examples.map((example) => `  ${example}`)]),
  ].join('\n')
}

function listing(
  title: string,
  all: readonly (readonly [string, string])[],
  width: number,
): string[] {
  const rows = all.filter(([spec]) => spec !== '-h, --help')
  const column = Math.min(26, Math.max(...rows.map(([spec]) => spec.length)) + 4)
  return [
    '',
    title,
    ...rows.flatMap(([spec, help]) => {
      const lead = `  ${spec}`.padEnd(column)
      const [first = '', ...rest] = wrap(help, width - column)
      const indented = rest.map((line) => ' '.repeat(column) + line)
      return spec.length + 4 > column
        ? [lead.trimEnd(), ' '.repeat(column) + first, ...indented]
        : [lead + first, ...indented]
    }),
  ]
}

/**
 * A section of docs/commands.md: the first paragraph of the help, because a guide or the help has the
 * rest. Options in `shared` are explained at the top of the page.
 */
export function verbReference(
  name: string,
  summary: string,
  verb: Verb | undefined,
  parts: readonly (readonly [name: string, command: VerbEntry])[],
  shared: ReadonlySet<string>,
): string {
  const isShared = ([spec, help]: readonly [string, string]) => shared.has(optionLine(spec, help))
  const options = verb === undefined ? [] : optionsOf(verb)
  const others = options
    .filter((option) => isShared(option) && !/^(-h|--json|--dir)\b/.test(option[0]))
    .map(([spec]) => `\`${/--[\w-]+/.exec(spec)?.[0]}\``)
  return [
    `## ${name}`,
    '',
    `${summary}.`,
    '',
    `\`${usageOf(name, verb)}\``,
    ...paragraphs(verb)
      .slice(0, 1)
      .flatMap((text) => ['', text]),
    ...(parts.length === 0
      ? []
      : ['', `See also ${parts.map(([part]) => `\`retake ${part}\``).join(', ')}.`]),
    ...(verb === undefined
      ? []
      : [
          '',
          ...options.flatMap((option) => (isShared(option) ? [] : [optionLine(...option)])),
          ...(others.length > 0 ? [`- also ${others.join(', ')}`] : []),
          '',
          '```sh',
          ...verb.examples,
          '```',
        ]),
    '',
  ].join('\n')
}

/** An option in a list of docs/commands.md. */
export const optionLine = (spec: string, help: string): string =>
  `- \`${spec}\`: ${help
    .split('`')
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll('<', String.raw`\<`)))
    .join('`')}`

function usageOf(name: string, verb: Verb | undefined): string {
  if (verb === undefined) return `retake ${name} <command>`
  const { arguments: own, agentFollows } = verb
  const parts = agentFollows ? ['[options]', own] : [own, '[options]']
  return ['retake', name, ...parts].filter((part) => part !== '').join(' ')
}

const paragraphs = (verb: Verb | undefined): string[] =>
  (verb?.description ?? '')
    .split('\n\n')
    .filter((text) => text !== '')
    .map((text) => text.replaceAll('\n', ' '))
