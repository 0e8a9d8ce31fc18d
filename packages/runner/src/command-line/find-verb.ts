import { closestName } from '@retake/engine/errors'
import { cliErrors } from '../errors.js'
import type { Verb } from './verb.js'

/** The groups of `retake --help`, in order. */
export const VERB_GROUPS = ['Record', 'Look', 'Change', 'Improve', 'Share'] as const

/** A command: its summary, and its module, which is loaded on demand. */
export interface VerbEntry {
  /** In a group, at most 23 characters, so that `retake --help` fits one screen. */
  readonly summary: string
  /** Its group in `retake --help`; subcommands and forms have none. */
  readonly group?: (typeof VERB_GROUPS)[number]
  /** Missing if it only has subcommands. */
  readonly load?: () => Promise<{ readonly default: Verb }>
}

/**
 * Commands by name. The second word of a name is a subcommand, as in `debug step`, or an option
 * that selects another form of a command, as in `scrub --check` or `verify --code today`. A form has
 * its own arguments and options, and may come from another package than its command.
 */
export type VerbTable = Readonly<
  Record<string, VerbEntry | { readonly shortFor: string } | { readonly nowCalled: string }>
>

/** All commands, subcommands and forms, without short and retired names. */
export const verbEntries = (table: VerbTable): [name: string, command: VerbEntry][] =>
  Object.entries(table).flatMap(([name, entry]): [string, VerbEntry][] =>
    'summary' in entry ? [[name, entry]] : [],
  )

/** Subcommands and forms of a command. */
export const partsOf = (table: VerbTable, name: string): [name: string, command: VerbEntry][] =>
  verbEntries(table).filter(([each]) => each.startsWith(`${name} `))

interface FoundVerb extends VerbEntry {
  readonly name: string
  /** Arguments after its name. */
  readonly args: readonly string[]
}

/**
 * The command that the arguments name. Throws for unknown and retired names, and if a subcommand is
 * missing, except in a request for help.
 */
export function findVerb(table: VerbTable, [first = '', ...rest]: readonly string[]): FoundVerb {
  const entry = Object.hasOwn(table, first) ? table[first] : undefined
  if (entry === undefined) {
    const names = verbEntries(table).map(([name]) => name)
    throw cliErrors.UNKNOWN_COMMAND(first, closestName(first, names))
  }
  if ('nowCalled' in entry) throw cliErrors.COMMAND_RENAMED(first, entry.nowCalled)
  if ('shortFor' in entry) return findVerb(table, [...entry.shortFor.split(' '), ...rest])
  const parts = partsOf(table, first)
  const end = rest.indexOf('--')
  const words = rest.slice(0, end === -1 ? rest.length : end)
  for (const [name, command] of parts) {
    const [, part = '', value] = name.split(' ')
    if (part === rest[0] && !part.startsWith('-')) return { ...command, name, args: rest.slice(1) }
    const isChosen = words.some((word, index) => {
      const [option, given = words[index + 1]] = word.split('=')
      return option === part && (value === undefined || given === value)
    })
    if (part.startsWith('-') && isChosen) return { ...command, name, args: rest }
  }
  if (entry.load === undefined && !rest.some((word) => word === '--help' || word === '-h')) {
    const names = parts.map(([name]) => name)
    if (rest[0] === undefined || rest[0].startsWith('-'))
      throw cliErrors.WRONG_USAGE(first, 'Missing command.', `Use one of ${names.join(', ')}.`)
    const typed = `${first} ${rest[0]}`
    throw cliErrors.UNKNOWN_COMMAND(typed, closestName(typed, names), first)
  }
  return { ...entry, name: first, args: rest }
}
