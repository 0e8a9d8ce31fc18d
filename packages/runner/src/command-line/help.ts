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

/** A section of docs/commands.md. */
export const verbReference = (name: string, summary: string, verb: Verb): string =>
  [
    `## ${name}`,
    '',
    `${summary}.`,
    '',
    `\`${usageOf(name, verb)}\``,
    ...paragraphs(verb).flatMap((text) => ['', text]),
    '',
    '| option | meaning |',
    '|---|---|',
    ...optionsOf(verb).map(
      ([spec, help]) => `| \`${cell(spec)}\` | ${cell(help).replaceAll('<', String.raw`\<`)} |`,
    ),
    '',
    '```sh',
    ...verb.examples,
    '```',
    '',
  ].join('\n')

const cell = (text: string): string => text.replaceAll('|', String.raw`\|`)

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
