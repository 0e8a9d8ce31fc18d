import { wrap } from '../terminal/terminal.js'
import { optionsOf, type Verb } from './verb.js'

export function verbHelp(name: string, summary: string, verb: Verb, width: number): string {
  const options = optionsOf(verb).filter(([spec]) => spec !== '-h, --help')
  const column = Math.min(26, Math.max(...options.map(([spec]) => spec.length)) + 4)
  return [
    summary,
    '',
    ...wrap(`usage: ${usageOf(name, verb)}`, width),
    ...paragraphs(verb).flatMap((text) => ['', ...wrap(text, width)]),
    '',
    'Options:',
    ...options.flatMap(([spec, help]) => {
      const lead = `  ${spec}`.padEnd(column)
      const [first = '', ...rest] = wrap(help, width - column)
      const indented = rest.map((line) => ' '.repeat(column) + line)
      return spec.length + 4 > column
        ? [lead.trimEnd(), ' '.repeat(column) + first, ...indented]
        : [lead + first, ...indented]
    }),
    '',
    'Examples:',
    ...verb.examples.map((example) => `  ${example}`),
  ].join('\n')
}

/**
 * A section of docs/commands.md: the first paragraph of the help, because a guide or the help has the
 * rest. Options in `shared` are explained at the top of the page.
 */
export function verbReference(
  name: string,
  summary: string,
  verb: Verb,
  shared: ReadonlySet<string>,
): string {
  const isShared = ([spec, help]: readonly [string, string]) => shared.has(optionLine(spec, help))
  const options = optionsOf(verb)
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
    '',
    ...options.flatMap((option) => (isShared(option) ? [] : [optionLine(...option)])),
    ...(others.length > 0 ? [`- also ${others.join(', ')}`] : []),
    '',
    '```sh',
    ...verb.examples,
    '```',
    '',
  ].join('\n')
}

/** An option in a list of docs/commands.md. */
export const optionLine = (spec: string, help: string): string =>
  `- \`${spec}\`: ${help
    .split('`')
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll('<', String.raw`\<`)))
    .join('`')}`

const usageOf = (name: string, verb: Verb): string =>
  [
    'retake',
    name,
    ...(verb.agentFollows ? ['[options]', verb.arguments] : [verb.arguments, '[options]']),
  ]
    .filter((part) => part !== '')
    .join(' ')

const paragraphs = ({ description = '' }: Verb): string[] =>
  description
    .split('\n\n')
    .filter((text) => text !== '')
    .map((text) => text.replaceAll('\n', ' '))
