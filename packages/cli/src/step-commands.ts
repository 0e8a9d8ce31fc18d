import { closestName } from '@retake/engine/errors'
import { wrongStepCommand } from './errors/command-line.js'

export interface StepCommand {
  readonly name: StepCommandName
  /** What follows the name; empty when nothing does. */
  readonly argument: string
}

interface Definition {
  readonly name: string
  readonly aliases: readonly string[]
  readonly argument?: { readonly name: string; readonly isRequired: boolean }
  readonly help: string
}

const optional = (name: string) => ({ name, isRequired: false })
const required = (name: string) => ({ name, isRequired: true })

const DEFINITIONS = [
  { name: 'next', aliases: ['n'], help: 'to the step that is answered next' },
  { name: 'back', aliases: ['b'], help: 'to the step that was answered before' },
  {
    name: 'lane',
    aliases: [],
    argument: optional('[back] [N]'),
    help: 'the same in this lane, or in lane N',
  },
  {
    name: 'continue',
    aliases: ['c'],
    argument: optional('[expr]'),
    help: 'to the next step where it is true, or to the end',
  },
  {
    name: 'reverse-continue',
    aliases: ['rc'],
    argument: required('<expr>'),
    help: 'to the last step before where it was true',
  },
  { name: 'jump', aliases: ['j'], argument: required('<N>'), help: 'to step N' },
  { name: 'print', aliases: ['p'], argument: required('<expr>'), help: 'the value here' },
  { name: 'locals', aliases: [], help: 'the variables here' },
  { name: 'stack', aliases: ['bt'], help: 'who called, and who waits' },
  {
    name: 'watch',
    aliases: ['w'],
    argument: optional('[expr]'),
    help: 'show it at every stop, or what is watched',
  },
  { name: 'unwatch', aliases: [], argument: required('<expr>'), help: 'no longer' },
  { name: 'list', aliases: ['l'], help: 'the steps around' },
  { name: 'help', aliases: ['h', '?'], help: 'this' },
  { name: 'quit', aliases: ['q', 'exit'], help: 'end' },
] as const satisfies readonly Definition[]

export type StepCommandName = (typeof DEFINITIONS)[number]['name']

/** Reads one line of `retake step`. */
export function parseStepCommand(line: string): StepCommand {
  const [, typed = '', argument = ''] = /^(\S*)\s*([^]*)$/.exec(line.trim()) ?? []
  const all: readonly Definition[] = DEFINITIONS
  const found = all.find(({ name, aliases }) => name === typed || aliases.includes(typed))
  if (found === undefined) {
    const close = closestName(
      typed,
      all.map(({ name }) => name),
    )
    throw wrongStepCommand(
      `There is no command "${typed}" here.`,
      close === undefined ? 'No command has a similar name.' : `Did you mean ${close}?`,
    )
  }
  if (found.argument === undefined && argument !== '')
    throw wrongStepCommand(`${found.name} stands alone.`, `"${argument}" follows it.`)
  if (found.argument?.isRequired && argument === '')
    throw wrongStepCommand(`${found.name} needs ${found.argument.name}.`, 'Nothing follows it.')
  return { name: found.name as StepCommandName, argument }
}

/** Rows for a table: how it is written, and what it does. */
export const stepCommandHelp = (): string[][] =>
  DEFINITIONS.map((definition: Definition) => {
    const { name, aliases, argument, help } = definition
    const names = [...aliases.slice(0, 1), name].join(', ')
    return [`  ${names}${argument ? ` ${argument.name}` : ''}`, help]
  })
