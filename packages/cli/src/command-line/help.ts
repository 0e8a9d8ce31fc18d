import type { Verb, VerbEntry } from './verb.js'
import { verbs } from '../verbs/index.js'

export function generalHelp(): string {
  const width = Math.max(...verbs.map(({ name }) => name.length))
  return `Retake: a flight recorder for AI agents

usage: retake <command> [options]

${verbs.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join('\n')}

A run is named by its id, the start of it, the path of its tape, or \`last\`.
Results go to stdout, everything else to stderr. --json works everywhere.
Exit codes: 0 fine, 1 failed, 2 wrong usage, 3 found something,
4 credentials missing, 130 interrupted.

\`retake <command> --help\` tells more, with examples; \`retake docs\` has the
documentation, and a page for each error code.`
}

export const verbHelp = ({ name, summary }: VerbEntry, { usage, help }: Verb): string =>
  `${summary}

usage: retake ${name} ${usage}

${help}`
