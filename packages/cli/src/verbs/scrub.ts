import { openTape } from '@retake/tape/node'
import {
  DIR_OPTION,
  type Options,
  REDACT_OPTION,
  usageError,
  type Verb,
} from '@retake/runner/command-line'
import { restoreOriginal } from '@retake/runner/privacy'
import { scrubRun } from '@retake/runner/privacy'
import { failedPatterns, howFailed } from '@retake/engine/runs'
import { givenPatterns } from '@retake/runner/config'
import { fromHere, printJson } from '@retake/runner/terminal'

export default {
  arguments: '<run>',
  description: `Writes a copy of a tape without secrets and personal data. Every secret that
\`retake scrub --check\` finds is replaced by a placeholder, and personal data by pseudonyms. The original
is not changed. The copy of a branch includes its parents.

A pseudonym has the length and shape of the original value. The same value gets the same pseudonym
in all runs that are scrubbed with the same key, so copies can be read, compared and replayed.

With --vault, the encrypted original is written beside the copy. With the key (\`retake receipt keys\`, or
RETAKE_VAULT_KEY), \`retake replay\` and \`retake verify\` of the copy use the original, and
--restore writes it again, byte for byte.`,
  options: {
    '-o, --out <folder>': 'folder for the copy (default: scrubbed; with --restore: restored)',
    ...REDACT_OPTION,
    '--names <file>': 'also hide the names in this file, one per line',
    '--content': 'also hide all content: messages, answers, arguments and results of tools, output',
    '--vault': 'also write <run>.vault, so that the copy replays like the original',
    '--restore': 'write the original of a scrubbed copy, from its vault',
    ...DIR_OPTION,
    '--json': 'print files and digests as JSON',
  },
  examples: [
    'retake scrub last',
    'retake scrub last -o shared --redact email --redact phone',
    'retake scrub last -o shared --redact email --names customers.txt --vault',
    'retake scrub --restore shared/20261117-0930.tape -o originals',
  ],
  run(options, [name = '']) {
    const file = options.store.find(name)
    const output = options.text('out')
    if (options.flag('restore')) return restore(file, output ?? 'restored', options)
    const names = options.text('names')
    const patterns = givenPatterns([
      ...options.texts('redact'),
      ...(names === undefined ? [] : [`names:${names}`]),
    ])
    const scrubbed = scrubRun(file, output ?? 'scrubbed', {
      patterns: patterns.filter((pattern) => pattern.name !== 'key'),
      content: options.flag('content'),
      vault: options.flag('vault'),
    })
    const failed = failedPatterns().map(
      (pattern) => `${pattern.name ?? pattern.label ?? ''} ${howFailed(pattern) ?? 'failed'}`,
    )
    if (options.json) printJson({ ...scrubbed, ...(failed.length > 0 && { failed }) })
    else {
      const { files, vault, run, original, pseudonyms = {}, blanked = [] } = scrubbed
      for (const each of [...files, ...(vault === undefined ? [] : [vault])])
        console.log(fromHere(each))
      const counts = Object.entries(pseudonyms).map(([kind, count]) => `${count} ${kind}`)
      if (counts.length > 0) console.error(`Pseudonyms: ${counts.join(', ')}.`)
      if (blanked.length > 0)
        console.error(`Blanked, so a replay will differ there: step ${blanked.join(', ')}.`)
      console.error(`This is a scrubbed copy of ${run}. Digest of the original: ${original}.`)
    }
    for (const rule of failed)
      console.error(
        `warning: The redaction rule ${rule}. Every text that it was tried on is hidden completely.`,
      )
    return 0
  },
} satisfies Verb

function restore(file: string, folder: string, options: Options): number {
  const given = ['redact', 'names', 'content', 'vault'].find((each) => options.has(each))
  if (given !== undefined)
    throw usageError(
      `--restore cannot be combined with --${given}.`,
      'It only writes the original.',
    )
  const files = restoreOriginal(openTape(file), folder)
  const { digest } = openTape(files.at(-1) ?? '')
  options.print({ files, digest }, () => files.map(fromHere))
  return 0
}
